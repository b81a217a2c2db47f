"""A pickle of numpy arrays -> the arrays. Nothing that the file names is imported or called.

Python's own unpickler reads the file, but every name in it is looked up in an allow-list and replaced by a stand-in of
this module, so a hostile file can build nothing but plain values. Called by the loaders of published `.pkl` files.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import RefusedPickle, shown
from quorate.packed_files import check_size
from quorate.validate import invalid

PLAIN = re.compile(r"[<>=|]?(b1|\?|[iu][1248]|f[248]|c8|c16|[SU][0-9]{1,6}|[bBhHiIlLqQefdFD])")
SCALARS = (str, bytes, bytearray, bool, int, float, np.ndarray, np.generic)
IN_MEMORY = 3  # bytes of memory per byte of a pickle
MOST_DEPTH = 32  # of nested containers
FIX = "Ask its author for an .npz, or convert it where you trust it: np.savez(name, probs=..., votes=...)."
MODULES = {
    "_reconstruct": ("numpy.core.multiarray", "numpy._core.multiarray"),
    "scalar": ("numpy.core.multiarray", "numpy._core.multiarray"),
    "_frombuffer": ("numpy.core.numeric", "numpy._core.numeric"),
    "ndarray": ("numpy",),
    "dtype": ("numpy",),
    "encode": ("_codecs",),
    "bytes": ("builtins", "__builtin__"),
}


class _Dtype:
    """An element type of numbers or text; the file sets its byte order later."""

    def __init__(self, code: str) -> None:
        if not PLAIN.fullmatch(code):
            raise RefusedPickle(f"an array has elements of type {shown(code[:100])}; only numbers and text are read.")
        self.dtype: np.dtype[Any] = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *parts = state
        if parts[:3] != [None, None, None] or order not in ("<", ">", "|", "="):
            raise RefusedPickle("an element type has parts; only numbers and text are read.")
        self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """An array that the file creates empty and fills later."""

    array: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, is_fortran, raw = state
        self.array = _array(raw, dtype, shape, "CF"[is_fortran])


def _array(raw: bytes, dtype: _Dtype, shape: tuple[int, ...], order: Any) -> NDArray[Any]:  # noqa: ANN401
    """A view of the bytes: numpy checks that there are as many as the shape needs, so nothing large is created."""
    flat = np.frombuffer(raw, dtype=dtype.dtype) if len(raw) else np.zeros(0, dtype.dtype)
    return flat.reshape(shape, order=order)


class _Reader(pickle._Unpickler):  # the one in Python: in the C version, a few bytes of a file can claim gigabytes
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.encoded: dict[str, bytes] = {}  # each text once, so that references to it take no more memory

    def find_class(self, module: str, name: str) -> Callable[..., Any] | None:
        """The stand-in for a name; a new one each time, so that a file cannot change it for later reads."""
        if module not in MODULES.get(name, ()):
            raise RefusedPickle(
                f"it asks for {shown(f'{module}.{name}'[:100])}; only arrays and plain values are read."
            )
        allowed: dict[str, Callable[..., Any] | None] = {
            "_reconstruct": lambda *_: _Array(),
            "scalar": lambda dtype, raw: _array(raw, dtype, (1,), "C")[0],
            "_frombuffer": partial(_array),
            "ndarray": None,  # only named, never called
            "dtype": lambda code, *_: _Dtype(code),
            "encode": lambda text, _: self.encoded.setdefault(text, text.encode("latin-1")),
            "bytes": lambda: b"",
        }
        return allowed[name]


def read_pickle(path: str | Path) -> object:
    """The content of a pickle of numpy arrays: arrays, numbers, text, and dicts, lists and tuples of them.

    Anything else (a function, a class, an array of objects, ...) is refused and nothing in the file is run.

    >>> import pickle, tempfile
    >>> import numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "probs.pkl"
    >>> _ = file.write_bytes(pickle.dumps({"probs": np.array([[0.5, 0.5]])}))
    >>> read_pickle(file)["probs"]
    array([[0.5, 0.5]])
    """
    file = Path(path)
    if not file.is_file():
        raise invalid("path", str(path), "a file", "pass a pickle of numpy arrays.")
    check_size(file, IN_MEMORY * file.stat().st_size)
    return read_pickle_bytes(file.read_bytes(), where=str(file))


def read_pickle_bytes(content: bytes, *, where: str = "pickle") -> object:
    """As `read_pickle`, from memory; `where` names the source in messages."""
    try:
        return _resolved(_Reader(content).load(), {})
    except RefusedPickle as cause:
        raise RefusedPickle(f"{where!r} is refused: {cause} Nothing in it was run. {FIX}") from None
    except Exception as cause:  # a damaged or crafted file can fail in any way
        raise RefusedPickle(
            f"{where!r} is not a pickle of numpy arrays ({shown(str(cause)[:100])}). Download it again. {FIX}"
        ) from cause


def _resolved(value: object, done: dict[int, object], depth: int = 0) -> object:
    """The value with every stand-in replaced by its array; each container is resolved once."""
    if depth > MOST_DEPTH:
        raise RefusedPickle(f"its containers are nested more than {MOST_DEPTH} deep, or contain themselves.")
    if isinstance(value, _Array) and value.array is not None:
        return value.array
    if value is None or isinstance(value, SCALARS):
        return value
    if id(value) not in done:
        if isinstance(value, dict):
            done[id(value)] = {
                _resolved(key, done, depth): _resolved(inner, done, depth + 1) for key, inner in value.items()
            }
        elif isinstance(value, (list, tuple)):
            done[id(value)] = type(value)(_resolved(inner, done, depth + 1) for inner in value)
        else:
            raise RefusedPickle(f"it holds a {type(value).__name__}, which is neither an array nor a plain value.")
    return done[id(value)]
