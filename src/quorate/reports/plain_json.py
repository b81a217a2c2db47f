"""Values as strict JSON holds them: no NaN, no infinity, no numpy. In: results of any kind; out: plain values.

Called wherever JSON leaves the program: `cli.output.print_json` and the summaries of `experiments`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:  # noqa: ANN401
    """A value as strict JSON holds it: numpy's numbers and arrays as Python's, what is not finite as null.

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
