"""Instructions of a project: Markdown with links and pictures, as HTML that cannot run anything."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from quorate.errors import InvalidInput
from quorate_service.domain.items import UPLOAD, checked_address, checked_image, media_address

BELOW = 2  # levels of headings: pages have their own h1 and h2
ELSEWHERE = {"target": "_blank", "rel": "noopener noreferrer"}


class _Markdown(MarkdownIt):
    """Markdown with tables; a line end is one, HTML is text."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Whether a link may lead there: never to a script, nor to a page of this service."""
        try:
            return UPLOAD.fullmatch(url) is not None or bool(checked_address(url, where="instructions"))
        except InvalidInput:
            return False


MARKDOWN = _Markdown("commonmark", {"html": False, "breaks": True}).enable("table")


def as_html(text: str, project_id: str, *, allow_private: bool = False) -> Markup:
    """The instructions as HTML; HTML in them is shown as text.

    A picture is an upload of the project (`upload:<id>`) or an address that an item's image may have (`checked_image`).

    >>> str(as_html("**Any** <b>opacity</b>?", "p_1")).strip()
    '<p><strong>Any</strong> &lt;b&gt;opacity&lt;/b&gt;?</p>'
    """
    tokens = MARKDOWN.parse(text)
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(6, int(token.tag[1:]) + BELOW)}"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs |= {"href": _opened(str(part.attrs["href"]), project_id), **ELSEWHERE}
            elif part.type == "image":
                _show(part, project_id, allow_private=allow_private)
    return Markup(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))


def _show(picture: Token, project_id: str, *, allow_private: bool) -> None:
    """Show an allowed picture; of any other only its description."""
    try:
        address = checked_image(str(picture.attrs["src"]), where="instructions", allow_private=allow_private)
    except InvalidInput:
        picture.type, picture.attrs = "text", {}
    else:
        picture.attrs |= {"src": _opened(address, project_id), "referrerpolicy": "no-referrer", "loading": "lazy"}


def _opened(address: str, project_id: str) -> str:
    upload = UPLOAD.fullmatch(address)
    return address if upload is None else media_address(project_id, upload[1])
