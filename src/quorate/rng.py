"""Named, independent, repeatable random streams. Everything random in quorate starts here, from an explicit seed.

Except `people.crowd_stream.run_crowd`, `people.agreement.agreement_of`, `quorate_paper.as_published` and
`quorate_paper.shift.estimator`: published figures depend on their draws.
Called by the session, the simulation and the synthetic data; nothing below them takes a seed.
"""

from __future__ import annotations

import hashlib

import numpy as np

# Philox with four words of 64 bits and ten rounds, counter 1 (Salmon, Moraes, Dror and Shaw, 2011)
_WORD = 2**64 - 1
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator that depends only on the seed and the names: the same names give the same draws on every machine.

    Streams with different names are independent, so all methods see the same items and voters in the same order.

    >>> float(stream(7, "item-order", 0).random()) == float(stream(7, "item-order", 0).random())
    True
    >>> float(stream(7, "item-order", 0).random()) == float(stream(7, "item-order", 1).random())
    False
    """
    return np.random.Generator(np.random.Philox(key=_key(seed, *names)))


def uniform(seed: int, *names: str | int) -> float:
    """The first uniform draw of `stream(seed, *names)`, without building a generator.

    >>> uniform(7, "tie", 0) == float(stream(7, "tie", 0).random())
    True
    """
    key = _key(seed, *names)
    low, high = key & _WORD, key >> 64
    first, second, third, fourth = 1, 0, 0, 0
    for _ in range(_ROUNDS):
        one, two = first * _MULTIPLIERS[0], third * _MULTIPLIERS[1]
        first, second, third, fourth = (two >> 64) ^ second ^ low, two & _WORD, (one >> 64) ^ fourth ^ high, one & _WORD
        low, high = (low + _STEPS[0]) & _WORD, (high + _STEPS[1]) & _WORD
    return (first >> 11) * 2.0**-53


def uniforms(seed: int, name: str, count: int) -> np.ndarray:
    """`uniform(seed, name, t)` for t = 0 .. count-1, as one array (count,): the same bits, ten times faster."""
    start = hashlib.blake2b(_text(seed, name, "").encode(), digest_size=16)
    keys = bytearray(16 * count)
    for t in range(count):
        digest = start.copy()
        digest.update(b"%d" % t)
        keys[16 * t : 16 * t + 16] = digest.digest()
    low, high = np.frombuffer(keys, dtype="<u8").astype(np.uint64).reshape(count, 2).T
    first, second, third, fourth = np.ones(count, np.uint64), *np.zeros((3, count), np.uint64)
    for _ in range(_ROUNDS):
        (one_high, one), (two_high, two) = _product(first, _MULTIPLIERS[0]), _product(third, _MULTIPLIERS[1])
        first, second, third, fourth = two_high ^ second ^ low, two, one_high ^ fourth ^ high, one
        low, high = low + np.uint64(_STEPS[0]), high + np.uint64(_STEPS[1])
    return (first >> np.uint64(11)) * 2.0**-53


def _product(values: np.ndarray, factor: int) -> tuple[np.ndarray, np.ndarray]:
    """High and low word of values * factor, from products of half words."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    upper, lower = np.uint64(factor >> 32), np.uint64(factor & (2**32 - 1))
    bottom = (values & mask) * lower
    middle = (values >> half) * lower + (bottom >> half)
    cross = (values & mask) * upper + (middle & mask)
    return (values >> half) * upper + (middle >> half) + (cross >> half), values * np.uint64(factor)


def _text(seed: int, *names: str | int) -> str:
    return "\x1f".join([str(int(seed)), *(str(name) for name in names)])


def _key(seed: int, *names: str | int) -> int:
    return int.from_bytes(hashlib.blake2b(_text(seed, *names).encode(), digest_size=16).digest(), "little")
