"""The items table: search, filters, order and pages."""

import pytest

from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.pages import items as item_table
from quorate_service.pages.items import ItemsQuery, page_of
from quorate_service.store import Store
from quorate_service.store.prepare import prepare
from tests.quorate_service.conftest import BOTH


@pytest.fixture
def table(database_url):
    """Five items, two of them closed, and a function to list them."""
    store = Store(database_url)
    prepare(store)
    projects = Projects(store)
    project = projects.create("t", ProjectSettings(classes=("cat", "dog"), pool_size=3, audit_rate=0.0), now=1.0)
    names = ["Apple", "banana", "100%", "under_score", "underXscore"]
    shows = {
        "banana": ItemContent(text='Ripe, "yellow" Äpfel', link="https://fruit.example/7"),
        "100%": ItemContent("50%"),
    }
    batch = [NewItem(name, None, shows.get(name, ItemContent()), priority=n) for n, name in enumerate(names)]
    add_items(projects, project.id, batch, now=1.0)
    for item, label in (("banana", "dog"), ("Apple", "cat")):
        for voter in "ab":
            act(projects, Request(project.id, item, voter, "vote", label, served=False), now=2.0)

    def look(**wanted):
        with store.read() as connection:
            found = page_of(connection, project, ItemsQuery(**wanted))
            return [row.name for row in found.rows], found.total, found.last

    yield look
    store.close()


@BOTH
def test_filters_and_search_take_what_is_typed_literally(table):
    assert table()[0] == ["Apple", "banana", "100%", "under_score", "underXscore"]
    assert table(state="open")[0] == ["100%", "under_score", "underXscore"]
    assert table(state="closed", label="dog")[0] == ["banana"]
    assert table(reason="settled")[1] == 2
    assert table(search="APP")[0] == ["Apple"]
    assert table(search="%")[0] == ["100%"]
    assert table(search="r_s")[0] == ["under_score"]
    for part in ("ripe", '"yellow" Ä', "fruit.EXAMPLE/7"):
        assert table(search=part)[0] == ["banana"], "of its content, too"
    assert table(search="text")[1] == 0, "not the names of its fields"
    assert table(state="nonsense", order="nonsense")[1] == 5


def test_orders(table):
    assert table(order="closed")[0][:2] == ["Apple", "banana"]
    assert table(order="priority")[0][0] == "underXscore"
    assert table(order="votes")[0][:2] == ["Apple", "banana"]


def test_pages_hold_everything_once_and_end(table, monkeypatch):
    monkeypatch.setattr(item_table, "PER_PAGE", 2)
    pages = [table(page=number) for number in (1, 2, 3)]
    assert [name for names, *_ in pages for name in names] == table(page=1)[0] + table(page=2)[0] + table(page=3)[0]
    assert {last for *_, last in pages} == {3}
    assert table(page=99)[0] == table(page=3)[0]
    assert table(page=-1)[0] == table(page=1)[0]
