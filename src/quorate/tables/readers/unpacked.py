"""Compressed files -> streams of bytes, limited in size; and the encoding of a text by its byte-order mark.

Called by the readers of text and JSON.
"""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import Protocol

from quorate.packed_files import check_size

PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class SupportsRead(Protocol):
    """A stream of bytes."""

    def read(self, size: int | None, /) -> bytes:
        """The next bytes; None: all."""


class Counted(io.RawIOBase):
    """A decompressed stream that fails once it exceeds the size limit for the file (`quorate.packed_files`)."""

    def __init__(self, stream: SupportsRead, file: Path) -> None:
        super().__init__()
        self._stream, self._file, self._num_bytes = stream, file, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; InvalidInput beyond the limit."""
        taken = bytes(self._stream.read(None if size < 0 else size))
        self._num_bytes += len(taken)
        check_size(self._file, self._num_bytes)
        return taken

    def read1(self, size: int = -1) -> bytes:
        """As `read`; `io.TextIOWrapper` calls this one."""
        return self.read(1 << 20 if size < 0 else size)


def packing(file: Path) -> str | None:
    """The compression of a file, by its ending; None: not compressed."""
    return PACKINGS.get(file.suffix.lower())


def encoding_of(head: bytes) -> tuple[str, bool]:
    """The encoding, and whether there is a byte-order mark."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, True
    return "utf-8", False
