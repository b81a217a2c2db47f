"""PyArrow, or one clear line on how to get it. The other files of `tables` take it from here.

`import quorate` never comes this way: only `import quorate.tables` does.
"""

from __future__ import annotations

from quorate.errors import MissingExtra

INSTALL = "pip install 'quorate[tables]'"

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq
except ImportError as cause:  # pragma: no cover - the tests have it
    raise MissingExtra(f"quorate.tables reads files with PyArrow, which is not installed: {INSTALL}") from cause

TEXT = pa.large_string()  # 64-bit offsets: the names of many long ids pass 2 GB

__all__ = ["INSTALL", "TEXT", "arrow_csv", "pa", "pc", "pq"]
