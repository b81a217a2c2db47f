"""Arrow tables -> the caller's kind of table: pandas, polars, PyArrow or a Hugging Face dataset.

Ids, workers and labels are compared as text; `OwnTypes` remembers which types they had in the caller's frame (integers,
booleans, dates), and `in_own_type` converts them back for the output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from quorate.arrow import INSTALL, TEXT, pa, pc
from quorate.errors import MissingExtra
from quorate.validate import invalid


@dataclass(frozen=True, slots=True)
class OwnTypes:
    """The Arrow types that ids, workers and labels had in the caller's frame; None: text."""

    task: pa.DataType | None = None
    worker: pa.DataType | None = None
    label: pa.DataType | None = None


TEXTS = OwnTypes()


class ToFrames(ABC):
    """Mixin for results with a `table`: conversions to each library; ids and labels keep the caller's types."""

    __slots__ = ()

    @property
    @abstractmethod
    def table(self) -> pa.Table:
        """As an Arrow table."""

    def to_arrow(self) -> pa.Table:
        """As a PyArrow table."""
        return self.table

    def to_pandas(self) -> Any:  # noqa: ANN401 - of an optional library
        """As a pandas DataFrame."""
        return give_back(self.table, "pandas")

    def to_polars(self) -> Any:  # noqa: ANN401 - of an optional library
        """As a polars DataFrame."""
        return give_back(self.table, "polars")

    def to_dataset(self) -> Any:  # noqa: ANN401 - of an optional library
        """As a `datasets.Dataset` of Hugging Face, which can be pushed to its hub."""
        return give_back(self.table, "datasets")


def give_back(table: pa.Table, backend: str) -> Any:  # noqa: ANN401 - a frame of any library
    """An Arrow table as a table of `backend`: "pandas", "polars", "pyarrow" or "datasets".

    >>> give_back(pa.table({"task": ["1"]}), "pyarrow").column_names
    ['task']
    """
    if backend == "pyarrow":
        return table
    if backend == "datasets":
        return _to_dataset(table)
    nw = narwhals()
    try:
        return nw.from_arrow(table, backend=backend).to_native()
    except (ImportError, ValueError, TypeError) as cause:
        rule = f"pandas, polars or pyarrow, installed ({cause})"
        raise invalid("backend", backend, rule, "install it, or name another.") from cause


def pandas_or_arrow() -> str:
    """The backend "pandas" if it is installed, else "pyarrow"."""
    try:
        import_module("pandas")
    except ImportError:
        return "pyarrow"
    return "pandas"


def in_own_type(names: pa.Array | Iterable[str], kind: pa.DataType | None) -> pa.Array:
    """Distinct names (Arrow text or a list of texts) converted to `kind`; unchanged if one cannot be converted.

    >>> in_own_type(["7", "12"], pa.int64()).to_pylist(), in_own_type(["7", "none"], pa.int64()).to_pylist()
    ([7, 12], ['7', 'none'])
    """
    texts = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else pa.array(list(names), type=TEXT)
    if kind is None:
        return texts
    try:
        values = texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return texts
    return values if pc.count_distinct(values).as_py() == pc.count_distinct(texts).as_py() else texts


def narwhals() -> Any:  # noqa: ANN401 - an optional module
    """The library that reads and makes frames of any kind."""
    try:
        import narwhals as module  # noqa: PLC0415
    except ImportError as cause:  # pragma: no cover - the tests have it
        raise MissingExtra(f"frames are read through narwhals, which is not installed: {INSTALL}") from cause
    return module


def _to_dataset(table: pa.Table) -> Any:  # noqa: ANN401
    try:
        import datasets  # noqa: PLC0415 - optional
    except ImportError as cause:
        raise MissingExtra("datasets is not installed: pip install datasets") from cause
    return datasets.Dataset(table)
