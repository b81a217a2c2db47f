"""The commands of the service run as those of the library do."""

from tests.quorate.command_line.conftest import run

__all__ = ["run"]
