"""Figures as files and for the page: SVG and PNG of what an experiment's `draw` puts on an empty figure.

Same drawing, same bytes. The page carries the SVG, or a PNG of few colours where many points make the SVG heavy.
Called by `reproduce`; needs matplotlib.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

from quorate.errors import MissingExtra
from quorate.experiments.section import Figure
from quorate.workflows.plots import RC

HEAVY = 220_000  # bytes of SVG beyond which the page carries a PNG
DPI = 140
COLOURS = 64  # of the PNG on the page: lines and bands on white need no more


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure, drawn: the same picture twice."""

    figure: Figure
    svg: bytes
    png: bytes

    @property
    def data_uri(self) -> str:
        """The picture for a page that loads nothing from elsewhere."""
        kind, content = ("svg+xml", self.svg) if len(self.svg) <= HEAVY else ("png", _few_colours(self.png))
        return f"data:image/{kind};base64," + base64.b64encode(content).decode()


def _few_colours(png: bytes) -> bytes:
    from PIL import Image  # noqa: PLC0415  (comes with matplotlib)

    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(COLOURS).save(small, format="png", optimize=True)
    return small.getvalue()


def draw(figure: Figure) -> Drawn:
    """Draw a figure on white, in the project's style."""
    try:
        import matplotlib  # noqa: PLC0415
        import matplotlib.figure  # noqa: PLC0415
    except ImportError as cause:
        raise MissingExtra("matplotlib is not installed; to reproduce: pip install 'quorate[reproduce]'") from cause
    with matplotlib.rc_context(RC | {"path.simplify_threshold": 0.5}):
        canvas = matplotlib.figure.Figure(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        canvas.draw_without_rendering()
        canvas.set_layout_engine(None)  # laid out once, for both files
        svg, png = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
        canvas.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return Drawn(figure, svg.getvalue(), png.getvalue())
