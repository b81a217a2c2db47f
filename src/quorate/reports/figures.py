"""A `Figure` -> an SVG and a PNG, drawn by matplotlib in the project's style, and a data URI for a page.

matplotlib is an extra: `can_plot` says whether it is installed, `MISSING` how to install it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quorate.errors import MissingExtra
from quorate.reports.section import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

MISSING = "No plots: matplotlib is not installed. To get them: pip install 'quorate[plot]'"
HEAVY = 220_000  # bytes of SVG; above this a page contains the PNG instead
DPI = 140
COLOURS = 64  # of the PNG on the page: lines and bands on white need no more
INK, QUIET, BUDGET, GRID = "#222222", "#767676", "#b9b9b9", "#ececec"
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#9A4F96", "#8C8C8C"
RC: dict[Any, Any] = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "quorate",
    "path.simplify_threshold": 0.5,
}


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A drawn figure, as SVG and as PNG."""

    figure: Figure
    svg: bytes
    png: bytes

    @property
    def data_uri(self) -> str:
        """The picture as a data URI, so that the page is self-contained."""
        if len(self.svg) <= HEAVY:
            return data_uri(self.svg, "svg+xml")
        return data_uri(_few_colours(self.png), "png")


def data_uri(content: bytes, kind: str) -> str:
    """An image as a data URI.

    >>> data_uri(b"<svg/>", "svg+xml")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return f"data:image/{kind};base64," + base64.b64encode(content).decode()


def _few_colours(png: bytes) -> bytes:
    from PIL import Image  # noqa: PLC0415  (comes with matplotlib)

    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(COLOURS).save(small, format="png", optimize=True)
    return small.getvalue()


def can_plot() -> bool:
    """True if matplotlib is installed."""
    try:
        return find_spec("matplotlib") is not None
    except (ImportError, ValueError):
        return False


def canvas(figure: Figure) -> MplFigure:
    """The figure as a matplotlib figure: a notebook shows it, `.savefig` saves it."""
    if not can_plot():
        raise MissingExtra(MISSING)
    from matplotlib import rc_context  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure as MplFigure  # noqa: PLC0415 - optional
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415 - optional

    with rc_context(RC):
        layout = ConstrainedLayoutEngine()
        found = MplFigure(figsize=figure.size, layout=layout)
        figure.draw(found)
        layout.execute(found)
    return found


def draw(figure: Figure) -> DrawnFigure:
    """Draw a figure on white, in the project's style; the same figure gives the same bytes."""
    found = canvas(figure)
    from matplotlib import rc_context  # noqa: PLC0415 - optional

    with rc_context(RC):
        found.set_layout_engine(None)  # laid out once, for both files
        svg, png = io.BytesIO(), io.BytesIO()
        found.savefig(svg, format="svg", metadata={"Date": None})
        found.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return DrawnFigure(figure, svg.getvalue(), png.getvalue())


def draw_all(figures: Iterable[Figure]) -> dict[str, DrawnFigure]:
    """Drawn figures by key; empty without matplotlib: the page then says what is missing."""
    return {figure.key: draw(figure) for figure in figures} if can_plot() else {}
