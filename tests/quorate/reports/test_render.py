"""Every page: offline, without scripts, hostile words are only words, readable in light and dark."""

import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from quorate.commands.run import run
from quorate.reports.render import TEMPLATES, fragment, page
from quorate.reports.section import Chart, Claim, Document, Figure, Section, Table
from quorate.reports.svg import Bar, bars, histogram, lines

HOSTILE = "<script>alert(1)</script>\"'&`<img src=x onerror=alert(1)>`"


class Tags(HTMLParser):
    """The tags of a page, and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data


def hostile_document():
    table = Table("", HOSTILE, (HOSTILE, HOSTILE), ((HOSTILE, HOSTILE), ("x", 1.5)), HOSTILE, source=HOSTILE)
    chart = Chart(bars([Bar(HOSTILE, 1.0, HOSTILE)], title=HOSTILE), HOSTILE)
    plane = {"title": HOSTILE, "x_label": HOSTILE, "y_label": HOSTILE}
    drawn = Chart(histogram([1.0], [0.0, 1.0], **plane) + lines([("line", [0.0, 1.0], [0.0, 1.0])], **plane))
    section = Section(
        HOSTILE, HOSTILE, (HOSTILE,), (Claim(HOSTILE, True, HOSTILE),), (table,),
        (Figure(HOSTILE, HOSTILE, HOSTILE, HOSTILE, lambda figure: None, source=HOSTILE),), (HOSTILE,),
        cards=((HOSTILE, HOSTILE),), charts=(chart, drawn), points=(HOSTILE,),
        commands=((HOSTILE, HOSTILE), ("x", f"a --b {HOSTILE}")),
    )  # fmt: skip
    notes = (HOSTILE,) * 5
    return Document(HOSTILE, HOSTILE, HOSTILE, chart, (section,), (section,), notes, HOSTILE, contents=True)


def test_hostile_words_are_only_words():
    read = Tags(page(hostile_document()))
    assert not {"script", "img"} & {tag for tag, _ in read.found}
    assert not any("onerror" in attrs for _, attrs in read.found)
    assert read.words.count("alert(1)") > 20
    table = Table("", HOSTILE, (HOSTILE,), ((HOSTILE,),))
    assert "<script" not in fragment(HOSTILE, table, notes=(HOSTILE,), command=HOSTILE)


def test_hostile_classes_and_items_of_a_run_do_not_reach_the_page_as_markup():
    votes = np.array([[0, 0, 1], [1, 1, 1]] * 10)
    rows = [(f"<script>{t}", (HOSTILE, "dog")[label]) for t, row in enumerate(votes) for label in row]
    items, labels = zip(*rows, strict=True)
    result = run(pa.table({"item": items, "label": labels}))
    for text in (result.to_html(), result._repr_html_()):
        assert "<script" not in text and "<img" not in text
    assert "&lt;script&gt;alert(1)" in result.to_html()


def test_nothing_is_loaded_and_nothing_runs():
    text = page(hostile_document())
    for word in ("<script", "http://", "https://", "@import", "url(", "<link", "<iframe"):
        assert word not in text


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def full(colour):
    return colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_words_stand_out_from_their_ground(scheme):
    style = (TEMPLATES / "style.css").read_text()
    root = re.findall(r":root \{([^}]*)\}", style)[scheme]
    colours = {name: full(colour) for name, colour in re.findall(r"--(\w+): (#[0-9a-f]{3,6})", root)}
    assert {"ink", "quiet", "good", "bad", "paper", "ours", "card"} <= colours.keys()
    for ink in ("ink", "quiet", "good", "bad"):
        for ground in ("paper", "ours", "card"):
            low, high = sorted((luminance(colours[ink]), luminance(colours[ground])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)
