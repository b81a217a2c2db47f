"""The page: well-formed, complete in itself, nothing unescaped, headings in order."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from quorate.reports.figures import draw
from quorate.reports.section import Claim, Figure, Section, Table
from quorate_paper.report import Part, Reproduction, page

HOSTILE = "<script>alert(1)</script>\"'&"
VOID = {"meta", "img", "br", "link", "input"}


class Reader(HTMLParser):
    """Checks that every element is closed in its turn; keeps what there is."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def reproduction(**more):
    rows = (("value", HOSTILE, 1.234, "better"), ("mp", "m", float("nan"), "not reproduced"))
    heads = ("method", HOSTILE, "error", "verdict")
    section = Section(
        key="shift",
        title=HOSTILE,
        lead=(HOSTILE,),
        claims=(
            Claim(HOSTILE, True, HOSTILE, "section 4.4"),
            Claim("It fails", False, "3 > 2"),
            Claim("Who knows", None, "no data", "section 4.5"),
        ),
        tables=(
            Table("short", HOSTILE, heads, rows, note=HOSTILE),
            Table("long", "A long one", heads, rows * 20),
        ),
        figures=(Figure("fig", HOSTILE, HOSTILE, HOSTILE, lambda figure: figure.subplots().plot([1, 2])),),
        cautions=(HOSTILE,),
    )
    done = {
        "parts": (Part("shift", section, 1.5, 10, 2),), "seeds": (3, 4), "quick": False, "out": Path("out"),
        "checksums": {HOSTILE: "abc"}, "left_out": (HOSTILE,),
    }  # fmt: skip
    return Reproduction(**(done | more))


def pictures(done):
    return {part.stem(figure.key): draw(figure) for part in done.parts for figure in part.section.figures}


@pytest.fixture(scope="module")
def text():
    done = reproduction()
    return page(done, pictures(done))


@pytest.fixture(scope="module")
def read(text):
    return Reader(text)


def test_nothing_is_loaded_from_elsewhere(text, read):
    assert "http" not in text.replace("http://www.w3.org", "")
    assert "url(" not in text
    assert "@import" not in text
    for tag, attrs in read.tags:
        assert tag not in {"link", "iframe", "object", "embed"}
        assert attrs.get("src", "data:image/").startswith("data:image/")
        assert attrs.get("href", "#").startswith("#")


def test_claims_of_the_paper_are_quoted_and_counted_apart_from_our_own_checks(read):
    assert "Claims of the paper: 1 of 2 hold, 1 cannot be tested; Our own checks: 0 of 1 hold." in read.words
    assert "(section 4.4)" in read.words and "Cannot be tested" in read.words
