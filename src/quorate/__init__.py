"""quorate decides, online, when enough experts have been asked.

votes + prediction -> prior/ -> posterior/ -> decision/ -> session/ (journal) -> learning/ -> back to prior/
"""

from quorate.version import __version__

__all__ = ["__version__"]
