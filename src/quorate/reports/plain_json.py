"""Values for strict JSON: no NaN, no infinity, no numpy. In: results of any kind; out: plain values.

Called wherever JSON is written: `cli.output.print_json` and the summaries of reports and of `paper`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import overload

import numpy as np


@overload
def plain(value: Mapping[str, object]) -> dict[str, object]: ...


@overload
def plain(value: object) -> object: ...


def plain(value: object) -> object:
    """A value for strict JSON: numpy numbers and arrays as Python ones, numbers that are not finite as null.

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


def json_page(content: Mapping[str, object], *, indent: int = 2) -> str:
    """Strict JSON for a file: indented, with a final newline; numbers that are not finite are null.

    >>> json_page({"error": float("nan")}, indent=0)
    '{\\n"error": null\\n}\\n'
    """
    return json.dumps(plain(content), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
