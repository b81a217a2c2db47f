"""The demo's items: handwritten digits as PNG images, a real classifier's predictions, and how people vote on them.

Read from `digits.npz`, which `benchmarks/demo_digits.py` makes (where the images come from is said there and in
`docs/service.md`). Called by `seed` and `colleagues`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorate.types import FloatArray

SIDE, MARGIN, SCALE = 8, 2, 16
WHITE = 16.0  # the brightest pixel


@dataclass(frozen=True, slots=True)
class Digits:
    """`pixels` (T, 64) 0 to 16, `predictions` (T, 10) of the classifier, `votes` (T, 10): how colleagues vote."""

    pixels: NDArray[np.uint8]
    predictions: FloatArray
    votes: FloatArray

    def __len__(self) -> int:
        return len(self.pixels)

    def png(self, number: int) -> bytes:
        """One digit, dark on light, with a margin, smoothly enlarged."""
        small = np.pad(1.0 - self.pixels[number].reshape(SIDE, SIDE) / WHITE, MARGIN, constant_values=1.0)
        return as_png(np.round(255 * enlarged(small, SCALE)).astype(np.uint8))


@cache
def digits() -> Digits:
    """All of them, read once."""
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as file:
        predictions, votes = (file[name].astype(np.float64) for name in ("predictions", "votes"))
        pixels = file["pixels"]
    return Digits(
        pixels, predictions / predictions.sum(axis=1, keepdims=True), votes / votes.sum(axis=1, keepdims=True)
    )


def enlarged(image: FloatArray, scale: int) -> FloatArray:
    """Bilinear interpolation of a square image, `scale` times its size."""
    side = len(image)
    places = np.clip((np.arange(side * scale) + 0.5) / scale - 0.5, 0, side - 1)
    low = np.minimum(places.astype(int), side - 2)
    share = places - low
    rows = image[low] * (1 - share)[:, None] + image[low + 1] * share[:, None]
    return np.asarray(rows[:, low] * (1 - share) + rows[:, low + 1] * share)


def as_png(gray: NDArray[np.uint8]) -> bytes:
    """A grey image as a PNG file.

    >>> as_png(np.zeros((2, 3), dtype=np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width = gray.shape
    lines = b"".join(b"\x00" + line.tobytes() for line in gray)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
