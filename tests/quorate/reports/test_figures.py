"""Without matplotlib everything but the plots is there, with the line that installs it."""

import sys

import pytest

from quorate.commands.demo import demo_comparison
from quorate.errors import MissingExtra
from quorate.reports import figures


class NoMatplotlib:
    """An import hook under which matplotlib is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoMatplotlib(), *sys.meta_path])


@pytest.fixture(scope="module")
def comparison():
    return demo_comparison([1], num_items=300)


def test_nothing_is_drawn_and_the_page_says_why(no_matplotlib, comparison):
    from quorate.commands.demo.report import page

    assert figures.draw_all([comparison.figure()]) == {}
    assert "quorate[plot]" in page(comparison, [1.0], "", drawn={}, answer="", seconds=1)
    with pytest.raises(MissingExtra):
        figures.draw(comparison.figure())


def test_the_plot_is_the_same_each_time(comparison):
    assert figures.draw(comparison.figure()).svg == figures.draw(comparison.figure()).svg
