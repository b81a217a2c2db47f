"""Numbers -> small charts as inline SVG in the colours of the page, light or dark; they need no library.

Text is escaped; everything else is computed here. Called by the reports of `run`, `audit` and `reproduce`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 14, 40
ROW = 48  # height of a bar with its label


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its label, its length, the text at its end; `is_ours`: highlighted."""

    label: str
    value: float
    text: str
    is_ours: bool = False


def bars(rows: Sequence[Bar], *, title: str) -> str:
    """Horizontal bars from 0, each under its label.

    >>> bars([Bar("this run", 2.0, "2.00", True), Bar("everyone", 6.0, "6.00")], title="Votes").count("<rect")
    2
    """
    most = max([*(row.value for row in rows), 1e-12])
    room = WIDTH - 150  # leaves space for the text after the longest bar
    drawn = "".join(
        f'<text x="0" y="{ROW * place + 16}">{escape(row.label)}</text>'
        f'<rect class="{"bar" if row.is_ours else "other"}" x="0" y="{ROW * place + 23}" rx="3" height="18" '
        f'width="{max(room * row.value / most, 2):.1f}"/>'
        f'<text x="{max(room * row.value / most, 2) + 8:.1f}" y="{ROW * place + 37}">{escape(row.text)}</text>'
        for place, row in enumerate(rows)
    )
    return f"{_head(ROW * len(rows), title)}{drawn}</svg>"


def histogram(counts: Sequence[float], edges: Sequence[float], *, title: str, x_label: str, y_label: str) -> str:
    """Bars of `counts` between `edges`."""
    frame = _Frame(edges[0], edges[-1], max([*counts, 1]))
    drawn = "".join(
        f'<rect class="bar" x="{frame.x(low) + 1:.1f}" y="{frame.y(count):.1f}" '
        f'width="{max(frame.x(high) - frame.x(low) - 2, 1):.1f}" height="{max(frame.y(0) - frame.y(count), 0):.1f}">'
        f"<title>{low:.2f} to {high:.2f}: {count:g}</title></rect>"
        for count, low, high in zip(counts, edges, edges[1:], strict=False)
    )
    return frame.svg(drawn, title=title, x_label=x_label, y_label=y_label)


def lines(
    series: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    least_top: float = 1e-9,
) -> str:
    """Lines: (style class, x, y) each; NaN breaks a line. At least one point must be a number.

    The y axis ends at the largest value, or at `least_top`, which is needed if all values are 0.
    """
    points = [(x, y) for _, xs, ys in series for x, y in zip(xs, ys, strict=True) if math.isfinite(y)]
    xs = [x for x, _ in points]
    frame = _Frame(min(0.0, *xs), max(*xs, 1.0), max(*(y for _, y in points), least_top))
    drawn = "".join(f'<path class="{kind}" d="{frame.path(x, y)}"/>' for kind, x, y in series)
    return frame.svg(drawn, title=title, x_label=x_label, y_label=y_label)


def _head(height: float, title: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'


class _Frame:
    """A coordinate system from `low` to `high` and from 0 to above `top`, with axes."""

    def __init__(self, low: float, high: float, top: float) -> None:
        self.low, self.high = low, high
        self.step = _nice(top / 4)
        self.top = self.step * math.ceil(top / self.step - 1e-9)

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / self.top)

    def path(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        parts, pen = [], "M"
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(y):
                parts.append(f"{pen}{self.x(x):.1f} {self.y(y):.1f}")
            pen = "L" if math.isfinite(y) else "M"
        return "".join(parts)

    def svg(self, drawn: str, *, title: str, x_label: str, y_label: str) -> str:
        rows = [self.step * number for number in range(round(self.top / self.step) + 1)]
        grid = "".join(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self.y(row):.1f}" y2="{self.y(row):.1f}"/>'
            f'<text x="{LEFT - 6}" y="{self.y(row) + 4:.1f}" text-anchor="end">{row:g}</text>'
            for row in (float(f"{row:.12g}") for row in rows)
        )
        step = _nice((self.high - self.low) / 5)
        marks = [step * number for number in range(math.ceil(self.low / step), math.floor(self.high / step + 1e-9) + 1)]
        ticks = "".join(
            f'<text x="{self.x(mark):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{mark:g}</text>'
            for mark in (float(f"{mark:.12g}") for mark in marks)
        )
        names = (
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>'
            f'<text transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_label)}</text>"
        )
        return f"{_head(HEIGHT, title)}{grid}{ticks}{names}{drawn}</svg>"


def _nice(step: float) -> float:
    """`step` rounded up to 1, 2 or 5 times a power of ten.

    >>> _nice(0.3), _nice(7), _nice(100)
    (0.5, 10.0, 100.0)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return next(float(f"{unit * power:.12g}") for unit in (1, 2, 5, 10) if unit * power >= step * (1 - 1e-9))
