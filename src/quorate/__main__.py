"""`python -m quorate`: the same as the `quorate` command."""

from quorate.cli.main import main

if __name__ == "__main__":
    main()
