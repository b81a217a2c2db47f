"""An item whose image is broken is set aside, and asked about again once an owner clears it."""

import pytest
from sqlalchemy import func, select

from quorate_service.domain.ballots import act
from quorate_service.domain.broken_images import MOST_OF_ONE, report_image
from quorate_service.domain.events import list_actions
from quorate_service.domain.item_actions import change_item, change_items
from quorate_service.domain.items import ItemContent, NewItem
from quorate_service.domain.leases import give_back
from quorate_service.domain.listing import Filter, count_set_aside
from quorate_service.domain.queue import next_items
from quorate_service.domain.trail import disagreements
from quorate_service.domain.votes import NotServed, Request
from quorate_service.store.schema import image_reports


def names(desk, project, voter, now=2000.0):
    return [each.item for each in next_items(desk.projects, project.id, voter, count=5, now=now)]


def agrees(desk, project):
    with desk.store.read() as connection:
        return not list(disagreements(desk.projects, connection, project))


def test_one_voter_alone_sets_aside_only_few_items_that_nobody_has_seen(desk):
    shown = ItemContent(image="https://example.org/x.png")
    project = desk.project([NewItem(name, show=shown, priority=-n) for n, name in enumerate("stuvwxyz")])

    def report(voter, name, now=2000.0):
        assert name in [each.item for each in next_items(desk.projects, project.id, voter, count=9, now=now)]
        return report_image(desk.projects, project.id, name, voter, now=now)

    names(desk, project, "b")
    act(desk.projects, Request(project.id, "s", "b", "vote", "cat"), now=2000.0)
    assert not report("a", "s"), "b has seen it"
    told = [report("a", name) for name in "tuvwxy"]
    assert told == MOST_OF_ONE * [True] + [False]
    assert report("c", "s"), "two have not"
    act(desk.projects, Request(project.id, "t", "b", "vote", "cat"), now=2001.0)  # b held it before
    assert sorted(names(desk, project, "d", now=2002.0))[0] == "t", "b has seen this one, too"
    assert agrees(desk, project)
    aside = Filter("aside")
    assert change_items(desk.projects, project.id, "clear", aside, by="ada", now=2003.0) == MOST_OF_ONE
    assert change_items(desk.projects, project.id, "clear", aside, by="ada", now=2003.0) == 0
    assert not report("c", "s", now=2004.0), "reports before it was cleared do not count"


def asked(desk, project):
    """Whether x is served to a new voter, and how many items are set aside; the rows follow from the events."""
    assert agrees(desk, project)
    with desk.store.read() as connection:
        return names(desk, project, "new") == ["x"], count_set_aside(connection, project.id)


def test_set_aside_and_withdrawn_each_keep_the_item_from_everybody(desk):
    project = desk.project([NewItem("x", show=ItemContent(image="https://example.org/x.png"))])
    assert names(desk, project, "a") == ["x"]
    report_image(desk.projects, project.id, "x", "a", now=2000.0)
    assert asked(desk, project) == (False, 1)
    change_item(desk.projects, project.id, "withdraw", "x", by="ada", now=2001.0)
    assert asked(desk, project) == (False, 0), "nothing to do for the owner"
    change_item(desk.projects, project.id, "restore", "x", by="ada", now=2002.0)
    assert asked(desk, project) == (False, 1), "its image is still broken"
    change_item(desk.projects, project.id, "withdraw", "x", by="ada", now=2003.0)
    change_item(desk.projects, project.id, "clear", "x", by="ada", now=2003.0)
    assert asked(desk, project) == (False, 0), "it is still withdrawn"
    act(desk.projects, Request(project.id, "x", "ext:c", "vote", "cat", served=False), now=2004.0)
    assert asked(desk, project) == (False, 0)
    change_item(desk.projects, project.id, "restore", "x", by="ada", now=2005.0)
    assert asked(desk, project) == (True, 0)


def test_only_holders_report_an_item_once_each_until_an_owner_clears_it(desk):
    project = desk.project([NewItem("x", show=ItemContent(image="https://example.org/x.png"))])

    def report(voter, now):
        report_image(desk.projects, project.id, "x", voter, now=now)
        with desk.store.read() as connection:
            return connection.execute(select(func.count()).select_from(image_reports)).scalar_one()

    assert names(desk, project, "a") == ["x"]
    give_back(desk.projects, project.id, "a")
    with pytest.raises(NotServed):
        report("a", 2000.0)
    assert names(desk, project, "a") == ["x"]
    assert [report("a", 2001.0), report("a", 2002.0)] == [1, 1]
    with pytest.raises(NotServed):
        report("b", 2002.0)
    change_item(desk.projects, project.id, "clear", "x", by="ada", now=2003.0)
    change_item(desk.projects, project.id, "clear", "x", by="ada", now=2004.0)
    with desk.store.read() as connection:
        done = [(each.kind, each.item, each.who) for each in list_actions(connection, project.id)]
    assert done[1:] == [("clear", "x", "ada")]
    assert names(desk, project, "a") == ["x"]
    assert report("a", 2005.0) == 2
    change_item(desk.projects, project.id, "clear", "x", by="ada", now=2006.0)
    assert names(desk, project, "a") == ["x"]
    act(desk.projects, Request(project.id, "x", "a", "vote", "cat"), now=2007.0)
    with pytest.raises(NotServed):
        report("a", 2008.0)
