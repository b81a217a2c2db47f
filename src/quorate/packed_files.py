"""Packed files (.npz, .gz, .xlsx, Parquet): the limit on their unpacked size, and safe readers of arrays and Parquet.

`plain_arrays` reads .npy and .npz; nothing is unpickled, and declared sizes are checked before anything is read.
`parquet_batches` reads Parquet in bounded memory: a text stored once may be the value of every row, so text is read as
a dictionary, its total length is checked, and only then is it decoded.

The limit is the environment variable QUORATE_MAX_SIZE, by default 2GB. Files that are not
packed are not limited, except pickles and single JSON records, whose objects take many times their bytes.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InvalidInput, MissingExtra
from quorate.validate import invalid

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

VARIABLE = "QUORATE_MAX_SIZE"
DEFAULT = "2GB"
VOTE_BYTES = 90  # memory of one vote (docs/tables.md)
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BLOCK_ROWS = 1 << 17  # most rows read at a time
BLOCK_BYTES = 1 << 26  # largest size of a batch, unless a single row is larger
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_LONGEST_END = 22 + 2**16  # bytes of the record that ends a zip, with its comment
_CHUNK = 2**20
_FIX = "Save it again with np.save or np.savez, or download it again. Pickles are not read."


def max_size() -> int:
    """Bytes a file may unpack to."""
    return parse_size(os.environ.get(VARIABLE) or DEFAULT)


def parse_size(text: str) -> int:
    """A size in bytes.

    >>> parse_size("20GB"), parse_size("1.5 MB")
    (20000000000, 1500000)
    """
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?B?)", text.strip().upper())
    unit = None if found is None else _UNITS.get(found[2] if found[2].endswith("B") else f"{found[2]}B")
    if found is None or unit is None or (size := int(float(found[1]) * unit)) < 1:
        raise invalid(VARIABLE, text, "a size above 0 such as 500MB or 20GB", "write a number and MB or GB.")
    return size


def check_size(file: Path, num_bytes: int) -> None:
    """Refuse a file that unpacks to more than the limit and more than its size on disk."""
    limit = max_size()
    if num_bytes > limit and num_bytes > file.stat().st_size:
        raise too_large(file, num_bytes, limit)


def check_votes(source: str, num_votes: int) -> None:
    """Refuse counts whose votes would need more memory than the limit."""
    num_bytes, limit = VOTE_BYTES * num_votes, max_size()
    if num_bytes > limit:
        raise too_large(source, num_bytes, limit)


def too_large(file: Path | str, num_bytes: int, limit: int) -> InvalidInput:
    """The error, with the size found (so far) and the variable that raises the limit."""
    allow = f"{-(-num_bytes // 10**9) * 2}GB"
    fix = f"if you trust the file, set the environment variable {VARIABLE}={allow}."
    return invalid(VARIABLE, num_bytes, f"at most {limit} bytes unpacked", fix, place=str(file))


def plain_arrays(file: Path) -> Any:  # noqa: ANN401
    """The array of a `.npy`, or the arrays of an `.npz` by name; `InvalidInput` for any other content.

    An `.npz` whose arrays would take more memory than `max_size` allows is refused.

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
        raise invalid("source", str(file), f"a file of plain arrays ({message[:300]})", _FIX) from cause


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to read a file: columns read as dictionaries (`texts`), columns returned as nulls (`unread`), batch size."""

    texts: list[str]
    unread: frozenset[str]
    batch_rows: int


def parquet_batches(
    file: Path, columns: Sequence[str] | None = None, *, cell_bytes: int = 0
) -> Iterator[pa.RecordBatch]:
    """Arrow record batches of these columns (None: all), each of at most `BLOCK_BYTES` or one row.

    `cell_bytes`: memory that the caller needs for each cell besides its content. Lists of text that could become larger
    than the limit are not read: their cells are null.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        fix = "pip install 'quorate[tables]'"
        raise invalid("source", str(file), "PyArrow to be installed", fix, error=MissingExtra) from cause
    with parquet.ParquetFile(file, pre_buffer=False) as source:
        schema = source.schema_arrow
        wanted = list(schema.names if columns is None else columns)
        twice = [name for name in wanted if schema.names.count(name) > 1]
        if twice:
            rule = f"a column name that occurs once in {file.name}"
            raise invalid("columns", twice[0], rule, "rename one of the columns.")
        plan = _plan(file, source, wanted)
    read = None if columns is None and not plan.unread else [name for name in wanted if name not in plan.unread]
    num_bytes = 0
    # pre_buffer would keep every byte that was read
    with parquet.ParquetFile(file, pre_buffer=False, read_dictionary=plan.texts) as source:
        for batch in source.iter_batches(batch_size=plan.batch_rows, columns=read):
            num_bytes += sum(map(_num_bytes, batch.columns)) + cell_bytes * batch.num_rows * len(wanted)
            check_size(file, num_bytes)
            for part in _parts(batch):
                cells = [
                    pa.nulls(part.num_rows, schema.field(name).type)
                    if name in plan.unread
                    else _plain(part.column(name), schema.field(name).type)
                    for name in wanted
                ]
                yield pa.RecordBatch.from_arrays(cells, names=wanted)


def _plan(file: Path, source: parquet.ParquetFile, wanted: Sequence[str]) -> _Plan:
    """How to read the wanted columns, from the metadata; refuses a row group that alone exceeds the limit."""
    meta, limit = source.metadata, max(max_size(), file.stat().st_size)
    groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
    texts, unread = [], set()
    row_bytes = 1
    group_bytes = [0] * len(groups)
    for at in range(meta.num_columns):
        leaf = meta.schema.column(at)
        root = (each for each in wanted if leaf.path.startswith(f"{each}."))
        name = leaf.path if leaf.path in wanted else next(root, None)
        if name is None:
            continue
        chunks = [group.column(at) for group in groups]
        if leaf.physical_type != "BYTE_ARRAY":
            width = _WIDTHS.get(leaf.physical_type, leaf.length)
            row_bytes += width
            sizes = [max(width * chunk.num_values, chunk.total_uncompressed_size) for chunk in chunks]
        else:
            sizes = [chunk.total_uncompressed_size for chunk in chunks]
            is_delta = any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks)
            largest = max((c.num_values * size for c, size in zip(chunks, sizes, strict=True)), default=0)
            if leaf.max_repetition_level and largest > limit:
                unread.add(name)
                continue
            if leaf.path == name and not is_delta:
                texts.append(name)
            else:  # no dictionary: each text may be as long as the whole column
                row_bytes += max(sizes, default=0)
        group_bytes = [before + size for before, size in zip(group_bytes, sizes, strict=True)]
    check_size(file, max(group_bytes, default=0))
    return _Plan(texts, frozenset(unread), max(1, min(BLOCK_ROWS, max(limit // 4, BLOCK_BYTES) // row_bytes)))


def _num_bytes(column: pa.Array) -> int:
    """Bytes of a column after decoding."""
    from pyarrow import compute, types  # noqa: PLC0415

    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    values = column.dictionary
    if not any(is_kind(values.type) for is_kind in (types.is_string, types.is_large_string, types.is_binary)):
        return int(column.indices.nbytes + values.nbytes)
    lengths = compute.binary_length(values).cast("int64").take(column.indices)
    return int(column.indices.nbytes + (compute.sum(lengths).as_py() or 0))


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch, halved until each part is small enough to be decoded."""
    if batch.num_rows <= 1 or sum(map(_num_bytes, batch.columns)) <= BLOCK_BYTES:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _plain(column: pa.Array, stored: pa.DataType) -> pa.Array:
    """The column with its stored type: text is decoded, unless the file stores it as a dictionary."""
    from pyarrow import types  # noqa: PLC0415

    is_encoded = types.is_dictionary(column.type) and not types.is_dictionary(stored)
    return column.dictionary_decode() if is_encoded else column
