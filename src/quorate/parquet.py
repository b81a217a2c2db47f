"""Reads a Parquet file as record batches in bounded memory; refuses a file that unpacks beyond the limit of `unpacked`.

A text that is stored once may be the value of every row. So text is read as a dictionary, its total length is checked,
and only then is it decoded. Called by `tables`, `datasets` and `workflows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorate.errors import MissingExtra
from quorate.unpacked import check_size, max_size
from quorate.validate import broken

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

BLOCK_ROWS = 1 << 17  # most rows read at a time
BLOCK_BYTES = 1 << 26  # largest size of a batch, unless a single row is larger
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


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
        raise broken("source", str(file), "PyArrow to be installed", fix, error=MissingExtra) from cause
    with parquet.ParquetFile(file, pre_buffer=False) as source:
        schema = source.schema_arrow
        wanted = list(schema.names if columns is None else columns)
        twice = [name for name in wanted if schema.names.count(name) > 1]
        if twice:
            rule = f"a column name that occurs once in {file.name}"
            raise broken("columns", twice[0], rule, "rename one of the columns.")
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
