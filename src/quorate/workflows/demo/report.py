"""The demo as one HTML page: no scripts, nothing loaded from elsewhere, readable on a phone, light and dark.

Takes the comparisons, writes a file. Called by `demo`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from quorate.catalogue import SENTENCES
from quorate.reports.plots import MISSING, can_plot, data_uri
from quorate.reports.style import PAGE_STYLE
from quorate.streams.curves import COUPLED, OURS, Comparison, Matched, equal_error_sentence, percent, verdict
from quorate.streams.sweep import CurveReading
from quorate.version import __version__

STYLE = PAGE_STYLE + "th:first-child, td:first-child, th:nth-child(4), td:nth-child(4) { text-align: left; }"
HEADS = ("method", "wrong, %", "votes per item", "knob", "saved against asking everyone", "saved against until settled")
INTRO = (
    "A classifier predicts each item for free; experts can be asked one at a time; the truth is the plurality of the "
    "whole pool. Every method met the same items, experts and ties. Each method's knob was turned over its whole "
    "range, and its error read at the same number of votes per item as all others (between two knob values: a mix of "
    "the two). Ties of the pool count as half wrong between two classes, two thirds between three, for everyone. "
    + COUPLED
)


def write_report(comparisons: Sequence[Comparison], path: Path, *, headline: str, seconds: float) -> Path:
    """Write the page."""
    text = page(comparisons, headline=headline, seconds=seconds)
    path.write_text(text.replace(" %", "\u00a0%"), encoding="utf-8")  # no line ends between 3.1 and %
    return path


def page(comparisons: Sequence[Comparison], *, headline: str, seconds: float) -> str:
    """The page as text."""
    body = "\n".join(section(comparison) for comparison in comparisons)
    note = "" if can_plot() else f"<p>{escape(MISSING)}</p>"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate {__version__}: demo</title><style>{STYLE}</style></head><body>
<h1>When have enough experts been asked?</h1>
<p class="headline">{escape(headline)}</p>
<p>{escape(INTRO)}</p>{note}
{body}
<h2>The methods</h2><dl>{_methods()}</dl>
<p class="quiet">quorate {__version__}; synthetic streams, run in {seconds:.0f} s. Every point is in results.csv,
the tables in summary.json.</p>
</body></html>
"""


def section(comparison: Comparison) -> str:
    """One setting: what it is, what came out, the plot, a table per budget."""
    setting = comparison.setting
    said = [
        (verdict(comparison.middle), equal_error_sentence(comparison)),
        tuple(verdict(matched) for matched in reversed(comparison.matched) if matched is not comparison.middle),
        (default_sentence(comparison),),
    ]
    first, *others = ("".join(f"<li>{escape(text)}</li>" for text in texts if text) for texts in said)
    picture = ""
    if can_plot():
        text = f"{setting.title}: wrong answers against votes per item"
        picture = f'<img alt="{escape(text)}" src="{data_uri(comparison)}">'
    tables = "".join(table(matched, comparison) for matched in reversed(comparison.matched))
    return f"""<h2>{escape(setting.title)}</h2><p>{escape(setting.about)}</p>
<ul class="verdict">{first}</ul><ul>{"".join(others)}</ul>{picture}{tables}"""


def default_sentence(comparison: Comparison) -> str:
    """Where quorate lands as it comes, without anybody choosing a budget."""
    point = comparison.default
    if point is None:
        return ""
    saved, _ = comparison.saved(point.votes_per_item)
    return (
        f"As it comes ({point.knob}) quorate asks {point.votes_per_item:.2f} votes per item and is wrong on "
        f"{percent(point.error_rate)}; asking until settled takes {comparison.until_settled:.2f} votes and leaves "
        f"{percent(comparison.tie_floor)} to ties. That is {100 * saved:.0f} % fewer votes than asking everyone."
    )


def table(matched: Matched, comparison: Comparison) -> str:
    """All methods at one budget, then the references."""
    rows = "".join(_row(reading, comparison) for reading in (*matched.readings, *comparison.references))
    heads = "".join(f"<th>{escape(head)}</th>" for head in HEADS)
    share = 100 * matched.budget / comparison.until_settled
    caption = f"At {matched.budget:.2f} votes per item ({share:.0f} % of until-settled)"
    return f'<div class="scroll"><table><caption>{caption}</caption><tr>{heads}</tr>{rows}</table></div>'


def _row(reading: CurveReading, comparison: Comparison) -> str:
    kind = "ours" if reading.name == OURS else "reference" if reading in comparison.references else ""
    from_all, from_settled = comparison.saved(reading.votes_per_item)
    cells = (
        reading.name, f"{100 * reading.error_rate:.2f}", f"{reading.votes_per_item:.2f}", reading.knob,
        f"{100 * from_all:.0f} %", f"{100 * from_settled:.0f} %",
    )  # fmt: skip
    return f'<tr class="{kind}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _methods() -> str:
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(sentence)}</dd>" for name, sentence in SENTENCES.items())
