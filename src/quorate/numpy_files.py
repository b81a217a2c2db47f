"""Reads the arrays of a `.npy` or `.npz` file; refuses damaged, oversized and pickled files.

Nothing is unpickled, and declared sizes are checked before anything is read. Called by the loaders of `datasets` and
by `tables.predictions.read`.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InvalidInput
from quorate.unpacked import check_size
from quorate.validate import broken

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_LONGEST_END = 22 + 2**16  # bytes of the record that ends a zip, with its comment
_CHUNK = 2**20
_FIX = "Save it again with np.save or np.savez, or download it again. Pickles are not read."


def plain_arrays(file: Path) -> Any:  # noqa: ANN401
    """The array of a `.npy`, or the arrays of an `.npz` by name; `InvalidInput` for any other content.

    An `.npz` whose arrays would take more memory than `quorate.unpacked.max_size` allows is refused.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.npz"
    >>> np.savez(path, votes=[[0, 1, 1]])
    >>> plain_arrays(path)
    {'votes': array([[0, 1, 1]])}
    """
    try:
        with file.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns about old or unusual headers; they are checked below
            return _read(stream, file)
    except InvalidInput:
        raise
    except Exception as cause:  # on damaged bytes zipfile, zlib, tokenize, ast and numpy raise almost anything
        message = " ".join(str(cause).split()) or type(cause).__name__
        raise broken("source", str(file), f"a file of plain arrays ({message[:300]})", _FIX) from cause


def _read(stream: IO[bytes], file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    is_zip = stream.read(4) in _ZIP
    stream.seek(0)
    if is_zip:
        return _archive(stream, file)
    _check_header(stream, file.stat().st_size)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _archive(stream: IO[bytes], file: Path) -> dict[str, Any]:
    """The arrays of an `.npz`. Every member is read to its end, because only then zipfile checks its checksum."""
    with ZipFile(stream) as archive:
        members = archive.infolist()
        _check_count(stream, len(members))
        check_size(file, sum(member.file_size for member in members))
        read = {member.filename: _member(archive, member) for member in members}
    return {name.removesuffix(".npy"): array for name, array in read.items() if name.endswith(".npy")}


def _check_count(stream: IO[bytes], found: int) -> None:
    """Compare the number of members with the count in the zip's end record, which zipfile does not check."""
    stream.seek(max(stream.seek(0, 2) - _LONGEST_END, 0))
    end = stream.read()
    counted = int.from_bytes(end[(start := end.rfind(_ZIP[1])) + 10 : start + 12], "little")
    if counted not in (found, 0xFFFF):  # 0xFFFF: more than this field can count
        raise ValueError(f"the archive counts {counted} members; {found} are listed")


def _member(archive: ZipFile, member: ZipInfo) -> NDArray[Any] | None:
    is_array = member.filename.endswith(".npy")
    if is_array:
        with archive.open(member) as content:
            _check_header(content, member.file_size)
    with archive.open(member) as content:
        array = np.lib.format.read_array(content, allow_pickle=False) if is_array else None
        while content.read(_CHUNK):
            pass
    return array


def _check_header(content: IO[bytes], size: int) -> None:
    """Check that the header declares an array of plain numbers whose size is that of the content."""
    magic = np.lib.format.read_magic(content)
    if magic not in ((1, 0), (2, 0)):
        raise ValueError(f"unsupported version {magic} of the .npy format")
    header = np.lib.format.read_array_header_1_0 if magic == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(content)
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    declared = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or declared != size - content.tell():
        raise ValueError(f"its header declares {declared} bytes of numbers; there are {size - content.tell()}")
