"""Images to vote on: checked when they come in, served inert, to members of their project only."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from sqlalchemy import select
from starlette.datastructures import UploadFile

from quorate.service.access.headers import INERT
from quorate.service.access.refusals import NotFound
from quorate.service.access.rows import upsert
from quorate.service.api.fields import Key, Out, problems
from quorate.service.api.here import Anyone, Owner, ProjectId, TheStore
from quorate.service.api.idempotency import Work, carried_out
from quorate.service.api.images import LARGEST_FILE, Image, checked
from quorate.service.api.people import Id
from quorate.service.api.reading import StrictRoute
from quorate.service.api.upload_room import UploadRoom
from quorate.service.problems import Problem
from quorate.service.store.schema import uploads
from quorate.service.store.store import Store
from quorate.validate import broken

router = APIRouter(tags=["uploads"], route_class=StrictRoute)

BINARY = {"type": "string", "format": "binary"}
KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")
FORM = {"type": "object", "required": ["file"], "properties": {"file": BINARY}}
BODY: dict[str, Any] = {
    "required": True,
    "content": {**{kind: {"schema": BINARY} for kind in KINDS}, "multipart/form-data": {"schema": FORM}},
}


class UploadOut(Out):
    """A stored image: name it in an item as `image`."""

    image: Annotated[str, Field(examples=["upload:u_0123456789abcdef01234567"])]
    url: Annotated[str, Field(description="Where members see it.")]
    media_type: str
    width: int
    height: int


async def sent_file(request: Request) -> bytes:
    """The file in the request's body, or in the field `file` of its form; a dependency, after who is calling."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        return await request.body()
    async with request.form() as form:
        field = form.get("file")
        if not isinstance(field, UploadFile):
            raise Problem(
                422, "Invalid input", "file is missing in the form.", field="file", rule="a file in the form's `file`",
                fix="send a file as `file`.",
            )  # fmt: skip
        content = await field.read(LARGEST_FILE + 1)
    request.state.content = sha256(content).hexdigest()
    return content


@router.post(
    "/api/v1/projects/{project_id}/uploads",
    summary="Upload an image",
    status_code=201,
    response_model=UploadOut,
    responses=problems(400, 403, 404, 409),
    openapi_extra={"requestBody": BODY},
)
def create_upload(
    request: Request,
    project_id: ProjectId,
    caller: Owner,
    content: Annotated[bytes, Depends(sent_file)],
    key: Key = None,
) -> Response:
    """PNG, JPEG, GIF or WebP of up to 5 MB, as the body or as `file` of a form. The same image is stored once.

    The images of a project have a limit together, 2 GB unless the operator set another."""
    image = checked(content)

    def work(on: Work) -> UploadOut:
        upload_id = stored(on.store, project_id, content, image, room=_room(request), now=on.now)
        return UploadOut(
            image=f"upload:{upload_id}", url=f"/media/{project_id}/{upload_id}", media_type=image.media_type,
            width=image.width, height=image.height,
        )  # fmt: skip

    return carried_out(request, caller.principal, key, work, status=201)


def stored(store: Store, project_id: str, content: bytes, image: Image, *, room: UploadRoom, now: float) -> str:
    """Keep a checked image, if there is room; its id, which is the old one if it is there already."""
    digest = sha256(content).hexdigest()
    row = {
        "id": f"u_{secrets.token_hex(12)}", "project_id": project_id, "media_type": image.media_type,
        "digest": digest, "content": content, "created": now,
    }  # fmt: skip
    same = select(uploads.c.id).where(uploads.c.project_id == project_id, uploads.c.digest == digest)
    with store.write() as connection:
        known = connection.execute(same).scalar_one_or_none()
        if known is not None:
            return str(known)
        room.take(connection, project_id, len(content), now=now)
        connection.execute(upsert(connection, uploads).values(row).on_conflict_do_nothing())
        return str(connection.execute(same).scalar_one())


def _room(request: Request) -> UploadRoom:
    """This worker's, made when the first image comes."""
    state = request.app.state
    if not hasattr(state, "upload_room"):
        state.upload_room = UploadRoom(state.config.upload_megabytes)
    return state.upload_room  # type: ignore[no-any-return]


@router.get(
    "/media/{project_id}/{upload_id}",
    summary="See an image",
    response_class=Response,
    responses={200: {"description": "The image", "content": {kind: {} for kind in KINDS}}, **problems(404)},
)
def show_upload(project_id: ProjectId, upload_id: Id, _caller: Anyone, store: TheStore) -> Response:
    """As what it was checked to be and nothing else; never run, whatever it holds."""
    query = select(uploads.c.media_type, uploads.c.content)
    with store.read() as connection:
        here = query.where(uploads.c.project_id == project_id, uploads.c.id == upload_id)
        row = connection.execute(here).one_or_none()
    if row is None:
        raise broken("upload", upload_id, "one of this project's", "upload the image again.", error=NotFound)
    headers = {
        "Content-Security-Policy": INERT,
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline",
        "Cache-Control": "private, max-age=86400, immutable",
    }
    return Response(row.content, headers=headers, media_type=row.media_type)
