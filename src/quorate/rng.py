"""Named, independent, repeatable random streams. Everything random in quorate starts here, from an explicit seed.

Called by the session, the simulation and the synthetic data; nothing below them takes a seed.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator that depends on the seed and the names only: same names, same draws, on every machine.

    Streams of different names are independent, so all methods meet the same items and voters in the same order.

    >>> float(stream(7, "item-order", 0).random()) == float(stream(7, "item-order", 0).random())
    True
    >>> float(stream(7, "item-order", 0).random()) == float(stream(7, "item-order", 1).random())
    False
    """
    text = "\x1f".join([str(int(seed)), *(str(name) for name in names)])
    key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.Philox(key=key))


def uniforms(seed: int, name: str, count: int) -> np.ndarray:
    """The first uniform draw of `stream(seed, name, t)` for t = 0 .. count-1, as one array (count,)."""
    return np.array([stream(seed, name, t).random() for t in range(count)])
