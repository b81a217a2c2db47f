"""Numbers -> charts as inline SVG. The coordinates are computed here, the markup is in `templates/_charts.html`.

A chart is drawn on a square of 100 by 100 that is stretched to its place; lines keep their width. Called by pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from quorate.service.pages.rendering import macro

COLOURS = 8
REST = 7  # the grey one


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: its name, its colour's number, and y at x = 0, 1, 2, ..."""

    name: str
    colour: int
    values: Sequence[float]


def line_chart(lines: Sequence[ChartLine], *, title: str, most: float) -> Markup:
    """Lines over a common scale from 0 to `most`; `title` is what a screen reader says.

    >>> str(line_chart([ChartLine("cat", 0, [0.5, 1.0])], title="belief", most=1.0))[:52]
    '<svg class="plot-area" viewBox="0 0 100 100" preserv'
    """
    drawn = [line for line in lines if line.values]
    far = max([*(len(line.values) - 1 for line in drawn), 1e-9])
    return macro("lines", title, [(line.colour % COLOURS, _path(line.values, far, most)) for line in drawn])


def _path(values: Sequence[float], far: float, most: float) -> str:
    heights = [100 - 99 * min(max(y / max(most, 1e-12), 0.0), 1.0) - 0.5 for y in values]
    points = [(100 * x / far, y) for x, y in enumerate(heights)]
    if len(points) == 1:
        points = [(0.0, heights[0]), (100.0, heights[0])]
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)


def columns(values: Sequence[float], *, title: str, colour: int = 0) -> Markup:
    """Upright bars from zero to the largest."""
    most, width = max([*values, 1e-12]), 100 / max(len(values), 1)
    bars = [((place + 0.1) * width, 0.8 * width, 99 * y / most) for place, y in enumerate(values) if y > 0]
    return macro("columns", title, colour, bars)


def bar(parts: Sequence[tuple[float, int]], *, whole: float) -> Markup:
    """One lying bar of parts (value, colour) of a whole; the words beside it say the same."""
    at, shown = 0.0, []
    for value, colour in parts:
        width = 100 * value / whole if whole > 0 else 0.0
        shown.append((at, width, colour % COLOURS))
        at += width
    return macro("bar", shown)


def swatch(colour: int) -> Markup:
    """A spot of a line's colour, for legends."""
    return macro("swatch", colour % COLOURS)
