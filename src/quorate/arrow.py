"""PyArrow, imported in one place with an error that says how to install it; and Arrow tables written to files.

`import quorate` does not import this module, so it works without PyArrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quorate.errors import MissingExtra
from quorate.files import atomic_file
from quorate.validate import invalid

INSTALL = "pip install 'quorate[tables]'"
ENDINGS = (".parquet", ".pq", ".csv")

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq
except ImportError as cause:  # pragma: no cover - the tests have it
    raise MissingExtra(f"tables are read with PyArrow, which is not installed: {INSTALL}") from cause

TEXT = pa.large_string()  # 64-bit offsets: many long ids can exceed 2 GB


@contextmanager
def table_file(path: str | Path, columns: pa.Schema) -> Iterator[pq.ParquetWriter | arrow_csv.CSVWriter]:
    """A writer with `write_table`; the file appears when the block ends, and not at all if it fails."""
    file = Path(path)
    kind = known_ending(file)
    with atomic_file(file) as unfinished:
        make = arrow_csv.CSVWriter if kind == ".csv" else pq.ParquetWriter
        with make(str(unfinished), columns) as out:
            yield out


def known_ending(file: Path, *, argument: str = "out") -> str:
    """The ending of the file, if that format can be written."""
    kind = file.suffix.lower()
    if kind not in ENDINGS:
        raise invalid(argument, str(file), f"a name that ends in {', '.join(ENDINGS)}", "rename it.")
    return kind


__all__ = ["INSTALL", "TEXT", "arrow_csv", "known_ending", "pa", "pc", "pq", "table_file"]
