"""`python -m quorate`: the same as the `quorate` command."""

from quorate.commands.main import main

if __name__ == "__main__":
    main()
