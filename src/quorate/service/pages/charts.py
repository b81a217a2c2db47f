"""Numbers -> charts as inline SVG without script, style attribute or text: the words stand in HTML around the shapes.

A chart is drawn on a square of 100 by 100 that is stretched to its place; lines keep their width. Called by templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

COLOURS = 8
REST = 7  # the grey one


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, its colour's number, and y at x = 0, 1, 2, ... (or at `places`)."""

    name: str
    colour: int
    values: Sequence[float]
    places: Sequence[float] | None = None


def line_chart(lines: Sequence[Line], *, title: str, most: float, least: float = 0.0, steps: bool = False) -> Markup:
    """Lines over a common scale; `title` is what a screen reader says.

    >>> str(line_chart([Line("cat", 0, [0.5, 1.0])], title="belief", most=1.0))[:52]
    '<svg class="plot-area" viewBox="0 0 100 100" preserv'
    """
    marks = "".join(f'<path class="axis" d="M0 {y}H100" vector-effect="non-scaling-stroke"/>' for y in (0.5, 50, 99.5))
    ends = [line.places[-1] if line.places else len(line.values) - 1 for line in lines if line.values]
    far = max([*ends, 1e-9])
    paths = "".join(
        f'<path class="line s{line.colour % COLOURS}" vector-effect="non-scaling-stroke" '
        f'd="{_path(line, far, least, most, steps=steps)}"/>'
        for line in lines
        if line.values
    )
    return _area(marks + paths, title)


def _path(line: Line, far: float, least: float, most: float, *, steps: bool) -> str:
    span = max(most - least, 1e-12)
    places = line.places if line.places is not None else range(len(line.values))
    points = [
        (100 * x / far, 100 - 99 * min(max((y - least) / span, 0.0), 1.0) - 0.5)
        for x, y in zip(places, line.values, strict=True)
    ]
    if len(points) == 1:
        points = [(0.0, points[0][1]), (100.0, points[0][1])]
    told, last = [f"M{points[0][0]:.2f} {points[0][1]:.2f}"], points[0][1]
    for x, y in points[1:]:
        told.append(f"H{x:.2f}V{y:.2f}" if steps and y != last else f"L{x:.2f} {y:.2f}")
        last = y
    return "".join(told)


def columns(values: Sequence[float], *, title: str, colour: int = 0) -> Markup:
    """Upright bars from zero to the largest."""
    most, width = max([*values, 1e-12]), 100 / max(len(values), 1)
    ground = '<path class="axis" d="M0 99.5H100" vector-effect="non-scaling-stroke"/>'
    bars = "".join(
        f'<rect class="f{colour}" x="{index * width + 0.1 * width:.2f}" width="{0.8 * width:.2f}" '
        f'y="{100 - 99 * value / most:.2f}" height="{99 * value / most:.2f}"/>'
        for index, value in enumerate(values)
        if value > 0
    )
    return _area(ground + bars, title)


def bar(parts: Sequence[tuple[float, int]], *, whole: float) -> Markup:
    """One lying bar of parts (value, colour) of a whole; the words beside it say the same."""
    at, shapes = 0.0, '<rect class="ground" width="100" height="10"/>'
    for value, colour in parts:
        width = 100 * value / whole if whole > 0 else 0.0
        shapes += f'<rect class="f{colour % COLOURS}" x="{at:.2f}" width="{width:.2f}" height="10"/>'
        at += width
    return Markup(
        f'<svg class="bar-area" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'
    )


def swatch(colour: int) -> Markup:
    """A spot of a line's colour, for legends."""
    shape = f'<rect class="f{colour % COLOURS}" width="10" height="10" rx="2"/>'
    return Markup(f'<svg viewBox="0 0 10 10" aria-hidden="true">{shape}</svg>')


def _area(shapes: str, title: str) -> Markup:
    name = escape(title)
    return Markup(
        f'<svg class="plot-area" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{name}">'
        f"<title>{name}</title>{shapes}</svg>"
    )
