"""A `Figure` -> an SVG and a PNG, drawn by matplotlib in the project's style; and the plot of error against votes.

In error-cost plots each method has a line, ours in front, and the tie floor is drawn. Colour shows the family of a
method, the dash its member (Okabe and Ito's colours, safe for the colour-blind). matplotlib is an extra: `can_plot`
says whether it is installed, `MISSING` how to install it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quorate.errors import MissingExtra
from quorate.reports.section import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from quorate.streams import Curve

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
    """A drawn figure, as SVG and as PNG, which is made when it is needed."""

    figure: Figure
    svg: bytes
    make_png: Callable[[], bytes]

    @property
    def png(self) -> bytes:
        """The picture as PNG."""
        return self.make_png()

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

    def saved(**options: Any) -> bytes:  # noqa: ANN401 - matplotlib's
        content = io.BytesIO()
        with rc_context(RC):
            found.savefig(content, **options)
        return content.getvalue()

    found.set_layout_engine(None)  # laid out once, for both files
    svg = saved(format="svg", metadata={"Date": None})
    return DrawnFigure(figure, svg, cache(partial(saved, format="png", dpi=DPI, metadata={"Software": None})))


def draw_all(figures: Iterable[Figure]) -> dict[str, DrawnFigure]:
    """Drawn figures by key; empty without matplotlib: the page then says what is missing."""
    return {figure.key: draw(figure) for figure in figures} if can_plot() else {}


STYLES: dict[str, dict[str, Any]] = {
    "value": {"color": BLUE, "linewidth": 3.2, "markersize": 12, "zorder": 9},
    "finexp": {"color": ORANGE, "linestyle": "-"},
    "finexp:hyperprior=infexp": {"color": ORANGE, "linestyle": (0, (3, 1, 1, 1))},
    "infexp": {"color": ORANGE, "linestyle": "--"},
    "fixed-ask-finexp": {"color": ORANGE, "linestyle": "-."},
    "fixed-ask-infexp": {"color": ORANGE, "linestyle": ":"},
    "fixed-finexp": {"color": GREEN, "linestyle": "-"},
    "fixed-infexp": {"color": GREEN, "linestyle": "--"},
    "beta": {"color": PURPLE, "linestyle": "-", "marker": "o"},
    "quorum": {"color": PURPLE, "linestyle": "--", "marker": "s"},
    "unanimous-then-cap": {"color": PURPLE, "linestyle": ":", "marker": "^"},
    "random": {"color": GREY, "linestyle": "-"},
    "entropy": {"color": GREY, "linestyle": "--"},
    "mp": {"color": GREY, "linestyle": "-."},
    "mp-released": {"color": GREY, "linestyle": ":"},
}
MARKERS = "oDv*XP"
TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)


def draw_curves(
    figure: MplFigure, curves: Sequence[Curve], *, title: str, floor: float, budgets: Sequence[float] = ()
) -> None:
    """A line for each method, the error of ties as a dotted line; thin vertical lines mark `budgets`."""
    axes = figure.subplots()
    before: list[str] = []
    for curve in sorted(curves, key=lambda c: list(STYLES).index(c.name) if c.name in STYLES else 99):
        kind = curve.name if curve.name in STYLES else "of one's own"
        _line(axes, curve, before.count(kind))
        before.append(kind)
    axes.axhline(100 * floor, color=QUIET, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    axes.annotate(
        "ties: no one can do better", (1.0, 100 * floor), (0, -7), xycoords=("axes fraction", "data"),
        textcoords="offset points", fontsize=8, color=QUIET, va="top", ha="right",
    )  # fmt: skip
    for number, budget in enumerate(budgets):
        label = None if number else "budgets compared"
        axes.axvline(budget, color=BUDGET, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1, label=label)
    axes.set(title=title, xlabel="votes per item", ylabel="wrong answers, %", xlim=(0, None), yscale="log")
    axes.set_ylim(*_limits([point.error_rate for curve in curves for point in curve.points] + [floor]))
    percent_ticks(axes)
    axes.title.set(fontweight="bold", fontsize=10.5)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, handlelength=2.6, fontsize=8)


def percent_ticks(axes: Axes) -> None:
    """Round numbers on a logarithmic axis of errors in per cent."""
    from matplotlib.ticker import FixedLocator, NullLocator  # noqa: PLC0415 - optional

    axes.yaxis.set_major_locator(FixedLocator(TICKS))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def _line(axes: Axes, curve: Curve, number: int) -> None:
    """The line of a method; `number` of those before it of the same name with other parameters, or of one's own."""
    style: dict[str, Any] = {"linewidth": 1.3, "marker": ".", "markersize": 4, "zorder": 3} | STYLES.get(
        curve.name, {"color": INK}
    )
    if number:
        style |= {"linewidth": 1.3, "linestyle": (0, (2 + 2 * number, 1.5)), "marker": MARKERS[number % len(MARKERS)]}
    if curve.is_point:
        style |= {"marker": style.get("marker", "o"), "markersize": 7}
    costs, errors = zip(*((point.votes_per_item, 100 * point.error_rate) for point in curve.points), strict=True)
    axes.plot(costs, errors, label=curve.label, **style)


def _limits(errors: Sequence[float]) -> tuple[float, float]:
    """From below the best to above the worst error, in per cent, for a logarithmic axis."""
    return max(75 * min(errors), 0.05), min(115 * max(errors), 100.0)
