"""The first bytes of a file -> which kind of image it is and how large; anything else is refused.

Only the four kinds every browser shows and none can run: no SVG, no HTML. Nothing is decoded. Called by `uploads`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from quorate.errors import InvalidInput

LARGEST_FILE = 5_000_000
LONGEST_SIDE = 20_000
MOST_PIXELS = 100_000_000
PNG, GIF, JPEG = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a"), b"\xff\xd8\xff"
MOST_SEGMENTS = 10_000  # of a JPEG before the one that holds its size; cameras write some dozens
NO_PADDING = re.compile(rb"\xff++[^\xff]", re.DOTALL)
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # JPEG markers that hold the size


class NotAnImage(InvalidInput):
    """The file is not one of the kinds of images that are taken."""

    def __init__(self, wrong: str, rule: str, fix: str, value: str | None = None) -> None:
        super().__init__(f"file {wrong}; expected {rule}; {fix}", field="file", value=value, rule=rule, fix=fix)


@dataclass(frozen=True, slots=True)
class Image:
    """What the file says it is."""

    media_type: str
    width: int
    height: int


def checked(content: bytes) -> Image:
    """The image, if it is one that is taken.

    >>> checked(b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(10))
    Image(media_type='image/gif', width=3, height=2)
    """
    if len(content) > LARGEST_FILE:
        size = f"{len(content):,} bytes"
        raise NotAnImage(f"has {size}", f"at most {LARGEST_FILE:,}", "make it smaller.", size)
    try:
        image = _image(content)
    except (struct.error, IndexError):
        image = None
    if image is None:
        raise NotAnImage("is no image, or damaged", "a PNG, JPEG, GIF or WebP image", "convert it to one of these.")
    if not (0 < image.width <= LONGEST_SIDE and 0 < image.height <= LONGEST_SIDE):
        size = f"{image.width} x {image.height} pixels"
        raise NotAnImage(f"is {size}", f"1 to {LONGEST_SIDE} pixels a side", "resize it.", size)
    if image.width * image.height > MOST_PIXELS:
        size = f"{image.width * image.height:,} pixels"
        raise NotAnImage(f"has {size}", f"at most {MOST_PIXELS:,}", "resize it.", size)
    return image


def _image(content: bytes) -> Image | None:
    if content.startswith(PNG) and content[12:16] == b"IHDR":
        return Image("image/png", *struct.unpack(">II", content[16:24]))
    if content.startswith(GIF):
        return Image("image/gif", *struct.unpack("<HH", content[6:10]))
    if content.startswith(JPEG):
        return _jpeg(content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _webp(content)
    return None


def _jpeg(content: bytes) -> Image | None:
    """Go from segment to segment up to the one that says the size."""
    place = 2
    for _ in range(MOST_SEGMENTS):
        padding = NO_PADDING.match(content, place)
        if padding is None:
            return None
        place = padding.end() - 2
        if place + 9 >= len(content):
            return None
        marker = content[place + 1]
        if marker in FRAMES:
            height, width = struct.unpack(">HH", content[place + 5 : place + 9])
            return Image("image/jpeg", width, height)
        place += 2 + struct.unpack(">H", content[place + 2 : place + 4])[0]
    return None


def _webp(content: bytes) -> Image | None:
    kind, data = content[12:16], content[20:30]
    if kind == b"VP8 " and data[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[6:10])
        return Image("image/webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L" and data[0] == 0x2F:
        bits = struct.unpack("<I", data[1:5])[0]
        return Image("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X":
        return Image("image/webp", int.from_bytes(data[4:7], "little") + 1, int.from_bytes(data[7:10], "little") + 1)
    return None
