"""Style sheet, scripts and icon: read once, sent with a digest in their address so that browsers keep them.

Only files that lie in `static/` when the process starts are ever sent; no path of a request touches the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Response

from quorate.service.problems import nothing_here

FOLDER = Path(__file__).parent / "static"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png"}
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it is sent."""

    content: bytes
    media_type: str
    version: str


def _read() -> dict[str, StaticFile]:
    """Every file; scripts that import each other get one version for all, as the import names no digest."""
    paths = {path.name: path for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}
    content = {name: path.read_bytes() for name, path in paths.items()}
    version = sha256(b"".join(content.values())).hexdigest()[:12]
    return {name: StaticFile(content[name], TYPES[paths[name].suffix], version) for name in paths}


FILES = _read()
router = APIRouter(include_in_schema=False)


def address(name: str) -> str:
    """Where a page finds a static file.

    >>> address("style.css").startswith("/static/"), address("style.css").endswith("/style.css")
    (True, True)
    """
    return f"/static/{FILES[name].version}/{name}"


@router.get("/static/{version}/{name}")
def static_file(version: str, name: str) -> Response:
    """One file; under an address of another version it is sent, too, but not to be kept."""
    held = FILES.get(name)
    if held is None:
        raise nothing_here(f"/static/{version}/{name}")
    keep = FOR_EVER if version == held.version else "no-cache"
    return Response(held.content, media_type=held.media_type, headers={"Cache-Control": keep})


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon browsers ask for by themselves."""
    return Response(FILES["icon.svg"].content, media_type="image/svg+xml", headers={"Cache-Control": "max-age=86400"})
