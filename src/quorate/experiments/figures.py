"""Figures as files and for the page: SVG and PNG of what an experiment's `draw` puts on an empty figure.

Same drawing, same bytes. The page carries the SVG, or the PNG where a drawing of many points makes the SVG heavy.
Called by `reproduce`; needs matplotlib.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

from quorate.errors import MissingExtra
from quorate.experiments.section import Figure
from quorate.workflows.plots import RC

HEAVY = 220_000  # bytes of SVG beyond which the page carries the PNG
DPI = 140


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure, drawn: the same picture twice."""

    figure: Figure
    svg: bytes
    png: bytes

    @property
    def data_uri(self) -> str:
        """The picture for a page that loads nothing from elsewhere."""
        kind, content = ("svg+xml", self.svg) if len(self.svg) <= HEAVY else ("png", self.png)
        return f"data:image/{kind};base64," + base64.b64encode(content).decode()


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
        svg, png = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
        canvas.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return Drawn(figure, svg.getvalue(), png.getvalue())
