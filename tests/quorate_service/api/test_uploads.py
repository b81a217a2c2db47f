"""Images: four kinds are accepted, everything else is refused; never executed, and served to members only."""

import io
import struct
import time

import numpy as np
import pytest
from PIL import Image

from quorate_service.api import uploads as images
from quorate_service.api.uploads import NotAnImage, UploadQuota, checked
from quorate_service.config import ServiceConfig
from quorate_service.problems import TooLarge
from quorate_service.store.schema import uploads
from tests.quorate_service.api.conftest import World


def picture(kind, size=(7, 5), **options):
    file = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(file, kind, **options)
    return file.getvalue()


KINDS = [
    ("PNG", {}, "image/png"), ("GIF", {}, "image/gif"), ("JPEG", {}, "image/jpeg"), ("JPEG", {"progressive": True},
    "image/jpeg"), ("WEBP", {}, "image/webp"), ("WEBP", {"lossless": True}, "image/webp"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "media_type"), KINDS)
def test_kind_and_size_are_read_from_the_file(kind, options, media_type):
    found = checked(picture(kind, (321, 123), **options))
    assert (found.media_type, found.width, found.height) == (media_type, 321, 123)


@pytest.mark.parametrize(("kind", "options", "media_type"), KINDS)
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_a_truncated_image_is_refused(kind, options, media_type, share):
    noise = np.random.default_rng(1).integers(0, 256, (60, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file := io.BytesIO(), kind, **options)
    whole = file.getvalue()
    assert checked(whole).media_type == media_type
    with pytest.raises(NotAnImage):
        checked(whole[: min(int(share * len(whole)), len(whole) - 2)])


def test_an_extended_webp_says_its_size():
    data = struct.pack("<I", 0)[:4] + (320).to_bytes(3, "little") + (122).to_bytes(3, "little")
    found = checked(b"RIFF\x16\x00\x00\x00WEBPVP8X" + struct.pack("<I", 10) + data)
    assert (found.width, found.height) == (321, 123)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html>",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xe0\x00\x00" * 10,
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"RIFF\x00\x00\x00\x00WEBPVP8L",
        b"BM" + bytes(100),
        b"%PDF-1.7",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 0, 10),
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 19_000, 19_000),
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 4_000_000_000, 1),
        picture("PNG") + bytes(5_000_000),
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(NotAnImage):
        checked(content)


def test_an_image_is_uploaded_once_shown_with_its_item_and_served_inert(world):
    owner = world.client("owner")
    content = picture("PNG")
    path = f"/projects/{world.here}/uploads"
    made = owner.api("POST", path, 201, content=content, headers={"Content-Type": "image/png"}).json()
    assert (made["media_type"], made["width"], made["height"]) == ("image/png", 7, 5)
    form = owner.api("POST", path, 201, files={"file": ("evil.html", content, "text/html")}).json()
    assert form == made
    owner.api("POST", f"/projects/{world.here}/items", 200, json={"items": [{"id": "x", "image": made["image"]}]})
    voter = world.client("voter")
    (leased,) = voter.api("POST", f"/projects/{world.here}/next", 200).json()["items"]
    assert leased["show"]["image"] == made["url"]
    seen = voter.get(made["url"])
    assert (seen.status_code, seen.content) == (200, content)
    assert seen.headers["content-type"] == "image/png"
    assert seen.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in seen.headers["content-security-policy"]
    assert seen.headers["content-disposition"] == "inline"
    assert world.client("stranger").get(made["url"]).status_code == 404
    assert world.client().get(made["url"]).status_code == 401
    elsewhere = made["url"].replace(world.here, world.there)
    assert world.client("stranger").get(elsewhere).status_code == 404


def test_a_project_cannot_show_another_project_s_upload(world):
    made = world.client("owner").api("POST", f"/projects/{world.here}/uploads", 201, content=picture("GIF")).json()
    body = {"items": [{"id": "x", "image": made["image"]}]}
    world.client("stranger").api("POST", f"/projects/{world.there}/items", 422, json=body)


def test_forms_without_a_file_and_wrong_files_are_refused(world):
    owner = world.client("owner")
    path = f"/projects/{world.here}/uploads"
    owner.api("POST", path, 422, files={"other": ("a.png", picture("PNG"))})
    owner.api("POST", path, 422, data={"file": "text"})
    owner.api("POST", path, 422, content=b"<svg/>", headers={"Content-Type": "image/png"})
    broken = owner.api("POST", path, content=b"--x", headers={"Content-Type": "multipart/form-data; boundary=y"})
    assert broken.status_code in (400, 422)
    assert owner.api("POST", path, content=bytes(7_000_000)).status_code == 413


def noise(number):
    """About 300 kB of incompressible data."""
    file = io.BytesIO()
    Image.frombytes("RGB", (320, 320), np.random.default_rng(number).bytes(3 * 320 * 320)).save(file, "PNG")
    return file.getvalue()


def test_the_total_size_of_a_projects_images_is_limited(database_url):
    world = World(database_url, ServiceConfig(upload_megabytes=1))
    owner, path = world.client("owner"), f"/projects/{world.here}/uploads"
    taken = [owner.api("POST", path, 201, content=noise(number)).json() for number in range(3)]
    full = owner.api("POST", path, 413, content=noise(3)).json()
    assert (full["field"], "1000000 bytes" in full["rule"]) == ("file", True)
    assert "QUORATE_UPLOAD_MEGABYTES" in full["fix"]
    assert all(size in full["detail"] for size in ("0.9 MB", "0.3 MB", "1.0 MB"))
    assert owner.api("POST", path, 201, content=noise(0)).json() == taken[0]  # there already: it takes no room
    owner.api("POST", path, 201, content=picture("PNG"))  # small enough
    world.client("stranger").api("POST", f"/projects/{world.there}/uploads", 201, content=noise(3))
    world.store.close()


def test_images_stored_by_another_worker_count_within_a_minute(world):
    room, size = UploadQuota(1), 600_000
    with world.store.write() as connection:
        room.take(connection, world.here, 10, now=0.0)
        row = {"id": "u_1", "project_id": world.here, "media_type": "image/png", "digest": "d", "created": 1.0}
        connection.execute(uploads.insert().values(row | {"content": bytes(size)}))
        room.take(connection, world.here, 10, now=59.0)
        with pytest.raises(TooLarge):
            room.take(connection, world.here, size, now=61.0)


def test_padding_of_a_jpeg_costs_next_to_nothing():
    """Five megabytes used to take seconds, read byte by byte."""
    begin = time.perf_counter()
    with pytest.raises(images.NotAnImage):
        images.checked(b"\xff\xd8" + b"\xff" * 4_900_000)
    with pytest.raises(images.NotAnImage):
        images.checked(b"\xff\xd8" + b"\xff\xfe\x00\x02" * 1_200_000)
    assert time.perf_counter() - begin < 0.5
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 3, 5) + bytes(12) + b"\xff\xd9"
    assert images.checked(b"\xff\xd8" + b"\xff" * 1000 + frame) == images.Image("image/jpeg", 5, 3)
