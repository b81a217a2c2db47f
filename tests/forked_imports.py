"""What a server imports, done once by the process that servers are forked from (`tests/forked.py`)."""

import quorate.streams  # noqa: F401
