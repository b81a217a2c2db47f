"""Bytes, an element type and a shape from a pickle -> an array no larger than the bytes. Called by `plain_pickle`.

Only numbers, truth values and text of fixed width; arrays of Python objects, records and dates are refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import RefusedPickle
from quorate.validate import shown

PLAIN = re.compile(r"[<>=|]?(b1|\?|[iu][1248]|f[248]|c8|c16|[SU][0-9]{1,6}|[bBhHiIlLqQefdFD])")
MOST_AXES = 16


@dataclass(slots=True, eq=False)
class Element:
    """A plain element type: a numpy dtype that holds no objects. The file says its byte order later."""

    dtype: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Blank:
    """An array that the file has announced (`_reconstruct`) and fills later."""

    array: NDArray[Any] | None = field(default=None)


def element_of(text: str) -> Element:
    """The element type of a code such as 'f8', '<i4' or 'U12'."""
    if not PLAIN.fullmatch(text):
        raise RefusedPickle(f"an array has elements of type {said(text)}; only numbers and text are read, no objects.")
    return Element(np.dtype(text))


def set_element_state(element: Element, state: tuple[Any, ...]) -> None:
    """Take the byte order of a type's pickled state (version, order, subarray, names, fields, ...)."""
    order = state[1] if len(state) >= 5 else None
    if any(part is not None for part in state[2:5]) or not isinstance(order, str) or order not in {"<", ">", "|", "="}:
        raise RefusedPickle(f"an element type has the state {said(state)}; only plain numbers and text are read.")
    element.dtype = element.dtype.newbyteorder(order)  # type: ignore[arg-type]


def array_of(buffer: Any, element: Element, shape: Any, *, order: Any) -> NDArray[Any]:  # noqa: ANN401
    """The array; the bytes must be exactly as many as the shape needs, so nothing large is ever made up."""
    raw = buffer.encode("latin-1") if isinstance(buffer, str) else buffer  # text: written by Python 2
    if not isinstance(raw, (bytes, bytearray)):
        raise RefusedPickle(f"an array's content is {type(buffer).__name__}, not bytes: an array of objects.")
    if not isinstance(shape, tuple) or len(shape) > MOST_AXES or not all(_is_length(size) for size in shape):
        raise RefusedPickle(f"an array has the shape {said(shape)}.")
    if math.prod(shape) * element.dtype.itemsize != len(raw) or (element.dtype.itemsize == 0 and math.prod(shape)):
        raise RefusedPickle(f"an array of shape {said(shape)} and type {element.dtype} has {len(raw)} bytes in it.")
    if not isinstance(order, str) or order not in {"C", "F"}:
        raise RefusedPickle(f"an array has the order {said(order)}.")
    flat = np.frombuffer(bytes(raw), dtype=element.dtype) if raw else np.zeros(0, dtype=element.dtype)
    native = flat.astype(element.dtype.newbyteorder("="))
    return native.reshape(shape, order="F" if order == "F" else "C")


def _is_length(size: Any) -> bool:  # noqa: ANN401
    return isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**40


def said(value: Any) -> str:  # noqa: ANN401
    """A value of a file as a message names it: never its whole content, which may be made to have no end."""
    if isinstance(value, (str, bytes)):
        return shown(value[:100])
    if isinstance(value, tuple) and len(value) <= 8:
        return f"({', '.join(said(part) if not isinstance(part, tuple) else 'tuple' for part in value)})"
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**64):
        return repr(value)
    return str(getattr(value, "name", type(value).__name__))
