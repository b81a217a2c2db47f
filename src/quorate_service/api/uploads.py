"""Images to vote on: checked on upload, limited per project, served to members of the project, never executed."""

from __future__ import annotations

import re
import secrets
import struct
import threading
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from sqlalchemy import Connection, func, select
from starlette.datastructures import UploadFile

from quorate.errors import InvalidInput
from quorate.validate import invalid
from quorate_service.access.request_context import INERT, config_of, kept
from quorate_service.api.bodies import MEGABYTE
from quorate_service.api.dependencies import Anyone, Owner, ProjectId, TheStore, Work, Write
from quorate_service.api.fields import Out, problems
from quorate_service.api.people import Id
from quorate_service.problems import NotFound, TooLarge
from quorate_service.store import Store
from quorate_service.store.bulk import upsert
from quorate_service.store.schema import uploads

LARGEST_FILE = 5_000_000
LONGEST_SIDE = 20_000
MOST_PIXELS = 100_000_000
PNG, GIF, JPEG = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a"), b"\xff\xd8\xff"
END_OF_JPEG = b"\xff\xd9"
MOST_SEGMENTS = 10_000  # of a JPEG before the one with its size; cameras write some dozens
NO_PADDING = re.compile(rb"\xff++[^\xff]", re.DOTALL)
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # JPEG markers of segments with the size
COUNTED_AGAIN = 60.0  # seconds after which the size is read again: other workers store images, too
BINARY = {"type": "string", "format": "binary"}
KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")
FORM = {"type": "object", "required": ["file"], "properties": {"file": BINARY}}
BODY: dict[str, Any] = {
    "required": True,
    "content": {**{kind: {"schema": BINARY} for kind in KINDS}, "multipart/form-data": {"schema": FORM}},
}


class NotAnImage(InvalidInput):
    """The file is not a supported image."""


@dataclass(frozen=True, slots=True)
class Image:
    """Type and size of an image, from its header."""

    media_type: str
    width: int
    height: int


def checked(content: bytes) -> Image:
    """Type and size of the image, if it is supported.

    >>> checked(b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(10) + b";")
    Image(media_type='image/gif', width=3, height=2)
    """
    if len(content) > LARGEST_FILE:
        size, rule = f"{len(content):,} bytes", f"at most {LARGEST_FILE:,} bytes"
        raise invalid("file", size, rule, "make it smaller.", error=NotAnImage)
    try:
        image = _image(content)
    except (struct.error, IndexError):  # the file ends too early
        image = None
    if image is None:
        rule = "a complete PNG, JPEG, GIF or WebP image"
        raise invalid("file", None, rule, "convert it to one of these.", error=NotAnImage)
    sides = (image.width, image.height)
    if not all(0 < side <= LONGEST_SIDE for side in sides) or image.width * image.height > MOST_PIXELS:
        size = f"{image.width} x {image.height} pixels"
        rule = f"1 to {LONGEST_SIDE} pixels a side and at most {MOST_PIXELS:,} in all"
        raise invalid("file", size, rule, "resize it.", error=NotAnImage)
    return image


def _image(content: bytes) -> Image | None:
    """The image, if the file is one from its first byte to its end mark."""
    if content.startswith(PNG) and content[12:16] == b"IHDR":
        return _png(content)
    if content.startswith(GIF) and content.rstrip(b"\0").endswith(b";"):
        return Image("image/gif", *struct.unpack("<HH", content[6:10]))
    if content.startswith(JPEG):
        return _jpeg(content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP" and struct.unpack("<I", content[4:8])[0] + 8 <= len(content):
        return _webp(content)
    return None


def _png(content: bytes) -> Image | None:
    """Read the chunks up to the last one."""
    size, offset = struct.unpack(">II", content[16:24]), len(PNG)
    while content[offset + 4 : offset + 8] != b"IEND":
        offset += 12 + struct.unpack(">I", content[offset : offset + 4])[0]
    return Image("image/png", *size) if offset + 12 <= len(content) else None


def _jpeg(content: bytes) -> Image | None:
    """Read the segments up to the one with the size; the image's data ends with the end mark."""
    offset = 2
    for _ in range(MOST_SEGMENTS):
        padding = NO_PADDING.match(content, offset)
        if padding is None:
            return None
        offset = padding.end() - 2
        if offset + 9 >= len(content):
            return None
        marker = content[offset + 1]
        if marker in FRAMES:
            height, width = struct.unpack(">HH", content[offset + 5 : offset + 9])
            return Image("image/jpeg", width, height) if END_OF_JPEG in content[offset:] else None
        offset += 2 + struct.unpack(">H", content[offset + 2 : offset + 4])[0]
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


@dataclass(frozen=True, slots=True)
class _Held:
    size: int
    counted: float


class UploadQuota:
    """Limits the total size of each project's images."""

    def __init__(self, most_megabytes: int) -> None:
        self.most = MEGABYTE * most_megabytes
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def take(self, connection: Connection, project_id: str, size: int, *, now: float) -> None:
        """Reserve space for one more image; TooLarge if there is not enough."""
        with self._lock:
            held = self._held.get(project_id)
            if held is None or not 0 <= now - held.counted < COUNTED_AGAIN or held.size + size > self.most:
                held = _Held(_counted(connection, project_id), now)
            if held.size + size > self.most:
                raise _full(held.size, size, self.most)
            self._held[project_id] = _Held(held.size + size, held.counted)


def _counted(connection: Connection, project_id: str) -> int:
    size = func.octet_length if connection.dialect.name == "postgresql" else func.length  # neither loads the content
    query = select(func.coalesce(func.sum(size(uploads.c.content)), 0)).where(uploads.c.project_id == project_id)
    return int(connection.execute(query).scalar_one())


def _full(held: int, size: int, most: int) -> TooLarge:
    had, more, all_ = (f"{number / MEGABYTE:.1f} MB" for number in (held, size, most))
    wrong = f"the project's images take {had}, this one {more} more, and the limit is {all_}"
    fix = "send smaller images, name images by https address, or let the operator raise QUORATE_UPLOAD_MEGABYTES."
    rule = f"at most {most} bytes for all images of a project"
    return TooLarge(wrong, fix, field="file", value=size, rule=rule)


router = APIRouter(tags=["uploads"])


class UploadOut(Out):
    """A stored image: use `image` in an item."""

    image: Annotated[str, Field(examples=["upload:u_0123456789abcdef01234567"])]
    url: Annotated[str, Field(description="Where members can open it.")]
    media_type: str
    width: int
    height: int


async def sent_file(request: Request) -> bytes:
    """The file, from the body or the form field `file`; a dependency, to be put after that on the caller."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        return await request.body()
    async with request.form() as form:
        field = form.get("file")
        if not isinstance(field, UploadFile):
            raise invalid("file", None, "a file in the form's `file`", "send a file as `file`.")
        content = await field.read(LARGEST_FILE + 1)
    request.state.content = sha256(content).hexdigest()
    return content


@router.post(
    "/api/v1/projects/{project_id}/uploads",
    summary="Upload an image",
    status_code=201,
    response_model=UploadOut,
    responses=problems(403, 404, 409),
    openapi_extra={"requestBody": BODY},
)
def create_upload(
    once: Write, project_id: ProjectId, caller: Owner, content: Annotated[bytes, Depends(sent_file)]
) -> Response:
    """PNG, JPEG, GIF or WebP of up to 5 MB, as the body or as `file` of a form. The same image is stored once.

    All images of a project together are limited, to 2 GB unless the operator set another limit."""
    image, request = checked(content), once.request
    room = kept(request, "upload_quota", lambda: UploadQuota(config_of(request.scope).upload_megabytes))

    def work(on: Work) -> dict[str, object]:
        name = stored(on.store, project_id, content, image, room=room, now=on.now)
        return asdict(image) | {"image": f"upload:{name}", "url": f"/media/{project_id}/{name}"}

    return once(caller, work)


def stored(store: Store, project_id: str, content: bytes, image: Image, *, room: UploadQuota, now: float) -> str:
    """Store a checked image, if there is space; returns its id. An image that is stored already keeps its id."""
    digest = sha256(content).hexdigest()
    row = {
        "id": f"u_{secrets.token_hex(12)}", "project_id": project_id, "media_type": image.media_type,
        "digest": digest, "content": content, "created": now,
    }  # fmt: skip
    same = select(uploads.c.id).where(uploads.c.project_id == project_id, uploads.c.digest == digest)
    with store.write() as connection:
        present = connection.execute(same).scalar_one_or_none()
        if present is not None:
            return str(present)
        room.take(connection, project_id, len(content), now=now)
        connection.execute(upsert(connection, uploads).values(row).on_conflict_do_nothing())
        return str(connection.execute(same).scalar_one())


@router.get(
    "/media/{project_id}/{upload_id}",
    summary="See an image",
    response_class=Response,
    responses={200: {"description": "The image", "content": {kind: {} for kind in KINDS}}, **problems(404)},
)
def show_upload(project_id: ProjectId, upload_id: Id, _caller: Anyone, store: TheStore) -> Response:
    """Served with the media type that was checked, and never executed."""
    query = select(uploads.c.media_type, uploads.c.content)
    with store.read() as connection:
        here = query.where(uploads.c.project_id == project_id, uploads.c.id == upload_id)
        row = connection.execute(here).one_or_none()
    if row is None:
        raise invalid("upload", upload_id, "one of this project's", "upload the image again.", error=NotFound)
    headers = {
        "Content-Security-Policy": INERT,
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline",
        "Cache-Control": "private, max-age=86400, immutable",
    }
    return Response(row.content, headers=headers, media_type=row.media_type)
