"""A report of reading -> three to six lines for people: how tables were read, the classes, the predictions, the dirt.

Called by `Report.understood`, for the terminal, summary.json and the pages; made to be checked at a glance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.tables.report import Finding, Report

KIND_OF_FILE = re.compile(r"^(\S+ text, columns parted by|sheet )")
USUAL_KIND = "utf-8 text, columns parted by commas"
MOST_CLASSES, MOST_SOURCES, MOST_RULES, MOST_NAMES = 12, 3, 3, 5
TOLD = ("class-without-votes", "unpredicted-label", "unread-people")  # in a line of their own
QUIET = ("ignored-column", "prediction-without-votes", "byte-order-mark")  # told last: they cost nothing


def understood(report: Report, rejects: str | None = None, *, most_sources: int = MOST_SOURCES) -> list[str]:
    """How the tables were read, votes by class, items with a usable prediction, and the rules that fired most."""
    sources = _by_source(report.decisions)
    told = [f"Read {line}" for line in sources[:most_sources]]
    if len(sources) > most_sources:
        told[-1] += f"; and {len(sources) - most_sources} more"
    return [
        *told,
        *_classes(report),
        *_strangers(report),
        *_people(report),
        *_predictions(report),
        *_dirt(report, rejects),
    ]


def _by_source(decisions: Sequence[str]) -> list[str]:
    """A line per source: how it was read, and in brackets which sheet or what unusual kind of text it is."""
    lines: list[str] = []
    waiting: dict[str, str] = {}
    for decision in decisions:
        source, _, told = decision.partition(": ")
        if KIND_OF_FILE.search(told):
            waiting[source] = "" if told == USUAL_KIND else f" ({told})"
        else:
            lines.append(decision + waiting.pop(source, ""))
    return [*lines, *(source + told for source, told in waiting.items())]


def _classes(report: Report) -> list[str]:
    if not report.classes:
        return []
    ranked = sorted(report.classes.items(), key=lambda pair: -pair[1])
    shown = ", ".join(f"{name} {count}" for name, count in ranked[:MOST_CLASSES])
    more = len(ranked) - MOST_CLASSES
    many = f"{report.totals.get('votes', 0)} votes on {report.totals.get('items', 0)} items, {len(ranked)} classes"
    none = [name for name, count in report.classes.items() if not count]
    also = f" and {len(none) - MOST_NAMES} more" if len(none) > MOST_NAMES else ""
    unvoted = f" Nobody voted for {', '.join(none[:MOST_NAMES])}{also}." if none else ""
    return [f"{many}: {shown}{f' and {more} more' if more > 0 else ''}.{unvoted}"]


def _strangers(report: Report) -> list[str]:
    """The labels that no classifier speaks of, each with its votes and the class that was perhaps meant."""
    found = next((each for each in report.findings if each.rule == "unpredicted-label"), None)
    if found is None:
        return []
    names = ", ".join(str(sample["value"]) for sample in found.samples)
    more = " and others" if len(found.samples) == MOST_NAMES else ""
    return [f"No classifier speaks of {names}{more}: kept as {'a class' if len(found.samples) == 1 else 'classes'}."]


def _people(report: Report) -> list[str]:
    """The column that looks like the people who voted, though no column was read as such."""
    found = next((each for each in report.findings if each.rule == "unread-people"), None)
    if found is None:
        return []
    source, name = (found.samples[0][key] for key in ("source", "value"))
    fix = f"if they are, name it: worker={name!r}"
    return [f"Column {name!r} of {source} looks like the people who voted, but was not read; {fix}."]


def _predictions(report: Report) -> list[str]:
    items = report.totals.get("items", 0)
    if not report.usable:
        return []
    each = [f"{count} of {items} ({model})" for model, count in list(report.usable.items())[:MOST_SOURCES]]
    more = len(report.usable) - MOST_SOURCES
    return [f"Items with a usable prediction: {', '.join(each)}{f' and {more} more models' if more > 0 else ''}."]


def _dirt(report: Report, rejects: str | None) -> list[str]:
    untold = [each for each in report.findings if each.rule not in TOLD]
    ranked = sorted(untold, key=lambda each: (each.rule in QUIET, not each.set_aside, -each.count))
    if not ranked:
        return []
    worst = "; ".join(_told(each) for each in ranked[:MOST_RULES])
    more = len(ranked) - MOST_RULES
    where = f" Rows set aside: {report.num_set_aside}" if report.num_set_aside else ""
    where += f", listed in {rejects}" if where and rejects else ""
    return [f"Irregular: {worst}{f'; and {more} more rules' if more > 0 else ''}.{where}{'.' if where else ''}"]


def _told(each: Finding) -> str:
    values = list(dict.fromkeys(str(sample["value"]) for sample in each.samples if "value" in sample))
    such = f" ({', '.join(values[:2])}{', ...' if len(values) > 2 else ''})" if values else ""
    return f"{each.count} x {each.met}{such}: {each.done}"
