"""An address -> its QR code as inline SVG, dark on light in both colour schemes, for links to open on a phone.

Made here, by segno; nothing is fetched. Called by the templates that show a link once.
"""

from __future__ import annotations

import segno
from markupsafe import Markup, escape


def qr_code(address: str, title: str) -> Markup:
    """The code; `title` is what a screen reader says.

    >>> str(qr_code("https://example.org/join/abc", "QR code of the link"))[:52]
    '<div class="qr" role="img" aria-label="QR code of th'
    """
    code = segno.make_qr(address, error="m")
    svg = code.svg_inline(omitsize=True, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None)
    return Markup(f'<div class="qr" role="img" aria-label="{escape(title)}">{svg}</div>')
