"""Values for strict JSON: no NaN, no infinity, no numpy. In: results of any kind; out: plain values.

Called wherever JSON is written: `cli.output.print_json` and the summaries of reports and of `paper`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import overload

import numpy as np


@overload
def plain(value: Mapping[str, object]) -> dict[str, object]: ...


@overload
def plain(value: object) -> object: ...


def plain(value: object) -> object:
    """A value for strict JSON: numbers and arrays of numpy as those of Python, what is not finite as null.

    >>> plain({"error": np.float64(0.5), "se": float("nan"), "seeds": (3, 4)})
    {'error': 0.5, 'se': None, 'seeds': [3, 4]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
