"""The voting page: fast, usable by keyboard, robust to broken networks, and without other people's votes."""

import json
import re
import time

import pytest
from sqlalchemy import select

from quorate_service.access.accounts import add_member, create_account
from quorate_service.access.credentials import sign_in_link
from quorate_service.domain.ballots import act
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.votes import Request
from quorate_service.store.schema import leases
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import (
    all_sent,
    ballots_of,
    come_in,
    item_of,
    open_vote,
    press,
    project_of,
    texts,
)

CLASSES = ("cat", "dog", "fox")
SPOKEN = 140  # characters at most: the beginning of a text, and that it is the next item


@pytest.fixture
def voter(live, chromium):
    """A project of 30 items, a voter who is signed in, and their page."""
    project, account = project_of(live, *texts(30), classes=CLASSES, pool_size=9, prediction=[0.61, 0.28, 0.11])
    with window(chromium) as page:
        come_in(page, live, account)
        open_vote(page, live, project)
        page.project, page.account = project, account
        yield page


@pytest.fixture
def reader(live, chromium):
    """A voter with an item of a project whose leases last five seconds; their clock can be advanced."""
    project, account = project_of(live, *texts(2), lease_seconds=5.0)
    with window(chromium) as page:
        page.clock.install()
        come_in(page, live, account)
        open_vote(page, live, project)
        page.project = project
        yield page


def held_until(live, project):
    """When the active leases of a project expire."""
    query = select(leases.c.expires).where(leases.c.project_id == project, leases.c.is_out)
    with live.store.read() as connection:
        return list(connection.execute(query).scalars())


HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def acts(live, page):
    return {item: (kind, label) for _, item, kind, label in ballots_of(live, page.project)}


def test_keys_vote_undo_skip_and_say_cannot_tell(live, voter):
    seen = []
    for key in ("1", "2", "3", "x", "?", "s"):
        seen.append(item_of(voter))
        if key == "s":
            all_sent(voter)  # and the next item is here
        press(voter, key)
    heard = voter.locator("[data-part=say]").inner_text()  # what a screen reader says
    assert re.fullmatch(r"Skipped\. Next item: Animal \d+", heard)
    last = item_of(voter)
    press(voter, "3")
    voter.wait_for_timeout(150)
    voter.keyboard.press("Backspace")
    assert item_of(voter) == last
    press(voter, "1")
    all_sent(voter)
    kinds = [("vote", "cat"), ("vote", "dog"), ("vote", "fox"), ("abstain", None), ("abstain", None), ("skip", None)]
    assert acts(live, voter) == dict(zip([*seen, last], [*kinds, ("vote", "cat")], strict=True))
    assert voter.locator("[data-part=session]").inner_text() == "4"
    voter.reload()
    voter.wait_for_function("() => document.querySelector('[data-part=today]').textContent === '4'")


def test_everything_can_be_reached_by_tab_and_pressed_by_enter(live, voter):
    voter.keyboard.press("Escape")
    reached = []
    for _ in range(20):
        voter.keyboard.press("Tab")
        reached.append(voter.evaluate("() => document.activeElement.textContent.trim()"))
        if reached[-1].endswith("dog"):
            break
    item = item_of(voter)
    press(voter, "Enter")
    all_sent(voter)
    assert acts(live, voter) == {item: ("vote", "dog")}


def test_a_held_key_votes_once(live, voter):
    voter.wait_for_timeout(200)
    for _ in range(3):
        voter.keyboard.down("1")  # without letting go: the browser marks the rest as repeats
        voter.wait_for_timeout(200)
    voter.keyboard.up("1")
    all_sent(voter)
    assert len(acts(live, voter)) == 1


def test_a_bouncing_key_votes_once(live, voter):
    """Press at once, however busy the machine is: nobody can have seen the next item."""
    voter.wait_for_timeout(200)
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }))"
    voter.evaluate(f"() => {{ {press}; {press}; }}")
    all_sent(voter)
    assert len(acts(live, voter)) == 1


def test_keys_can_be_switched_off_for_those_who_speak_to_their_computer(live, voter):
    voter.get_by_label(re.compile("Keys vote")).uncheck()
    press(voter, "1")
    voter.wait_for_timeout(200)
    assert acts(live, voter) == {}


def test_an_answer_lost_on_the_way_is_asked_for_again_and_counts_once(live, voter):
    lost = []

    def swallow(route):
        route.fetch()  # the server has it
        lost.append(route.request.headers["idempotency-key"])
        route.abort() if len(lost) == 1 else route.continue_()

    voter.route("**/votes", swallow)
    item = item_of(voter)
    press(voter, "2")
    voter.get_by_text("not sent yet, trying again").wait_for()
    all_sent(voter)
    assert lost == [lost[0]] * len(lost)
    assert len(lost) >= 2
    assert acts(live, voter) == {item: ("vote", "dog")}


def test_votes_wait_in_the_browser_and_are_sent_when_the_page_is_opened_again(live, voter):
    voter.context.set_offline(True)
    first = item_of(voter)
    press(voter, "1")
    voter.get_by_text("1 vote not sent yet").wait_for()
    second = item_of(voter)
    press(voter, "3")
    voter.get_by_text("2 votes not sent yet").wait_for()
    voter.get_by_role("heading", name="Waiting for the connection").wait_for()
    assert acts(live, voter) == {}
    context = voter.context
    voter.close(run_before_unload=False)
    context.set_offline(False)
    again = context.new_page()
    open_vote(again, live, voter.project)
    all_sent(again)
    again.wait_for_function("() => document.querySelector('[data-part=today]').textContent === '2'")
    assert {first: ("vote", "cat"), second: ("vote", "fox")} == acts(live, voter)


def test_an_undo_during_a_cut_takes_the_vote_back_afterwards(live, voter):
    voter.context.set_offline(True)
    item = item_of(voter)
    press(voter, "1")
    voter.get_by_text("not sent yet").wait_for()
    voter.keyboard.press("u")
    voter.context.set_offline(False)
    all_sent(voter)
    assert item_of(voter) == item
    assert acts(live, voter) == {}


def test_a_server_in_trouble_is_asked_again_and_told_plainly(live, voter):
    answers = iter([503, 429, 500])

    def troubled(route):
        status = next(answers, None)
        route.continue_() if status is None else route.fulfill(status=status, headers={"Retry-After": "0.1"}, body="{}")

    voter.route("**/votes", troubled)
    item = item_of(voter)
    press(voter, "1")
    voter.get_by_text("not sent yet, trying again").wait_for()
    all_sent(voter)
    assert acts(live, voter) == {item: ("vote", "cat")}


def sign_out_in_another_tab(live, page):
    """Sign out in another tab of the same browser; returns that tab."""
    other = page.context.new_page()
    other.on("dialog", lambda question: question.accept())
    other.goto(live.url)
    other.get_by_role("button", name="Sign out", exact=True).click()
    other.get_by_text("There are no passwords here").wait_for()
    return other


def vote_signed_out(page):
    """Two votes that cannot be sent; returns their items."""
    items = []
    for key, waiting in (("1", "1 vote not"), ("3", "2 votes not")):
        items.append(item_of(page))
        press(page, key)
        page.get_by_text(f"You are signed out. {waiting} sent yet").wait_for()
    return items


def test_votes_of_an_old_tab_arrive_once_after_signing_in_again_in_another(live, voter):
    other = sign_out_in_another_tab(live, voter)
    first, second = vote_signed_out(voter)
    assert acts(live, voter) == {}
    other.goto(sign_in_link(live.store, voter.account, live.url, now=time.time()))
    other.get_by_role("button", name="Sign in").click()
    other.get_by_role("heading", name="My projects").wait_for()
    all_sent(voter)
    assert acts(live, voter) == {first: ("vote", "cat"), second: ("vote", "fox")}
    assert len(ballots_of(live, voter.project)) == 2
    assert "not taken" not in voter.locator("[data-part=last]").inner_text().lower()
    third = item_of(voter)
    press(voter, "2")
    all_sent(voter)
    assert acts(live, voter)[third] == ("vote", "dog")


def test_votes_of_one_voter_are_never_sent_by_another_s_sign_in(live, voter):
    sign_out_in_another_tab(live, voter)
    vote_signed_out(voter)
    somebody = create_account(live.store, "Vlad", now=1.0).id
    add_member(live.store, voter.project, somebody, role="voter", now=1.0)
    come_in(voter, live, somebody)
    with voter.expect_response("**/votes") as answer:
        pass
    assert answer.value.status == 401
    voter.wait_for_timeout(300)
    assert acts(live, voter) == {}
    come_in(voter, live, voter.account)
    all_sent(voter)
    assert {who for who, *_ in ballots_of(live, voter.project)} == {voter.account}


def test_the_page_and_all_it_fetches_say_nothing_of_predictions_or_other_votes(live, chromium, voter):
    bodies = []
    voter.on("response", lambda answer: bodies.append(answer.text()) if "/static/" not in answer.url else None)
    voter.reload()
    voter.locator(".shown").wait_for()
    for key in ("1", "x", "s"):
        press(voter, key)
    voter.keyboard.press("u")
    all_sent(voter)
    assert len(bodies) >= 5
    for body in bodies:
        for word in ("0.61", "confidence", "prediction", "theta", "label_now", '"votes":{', "reason"):
            assert word not in body, (word, body[:300])
    told = [json.loads(body) for body in bodies if body.startswith("{")]
    assert all(each.get("decision") is None for each in told)


def test_a_closed_page_gives_its_items_to_others_at_once(live, voter):
    assert len(held_until(live, voter.project)) == 2
    voter.goto(f"{live.url}/")
    voter.wait_for_timeout(300)
    assert held_until(live, voter.project) == []
    voter.go_back()
    item_of(voter)
    press(voter, "1")
    all_sent(voter)
    assert len(acts(live, voter)) == 1


def test_page_down_scrolls_a_long_text_wherever_the_focus_is(live, chromium):
    project, account = project_of(live, ItemContent(text="A long report. " * 900))
    with window(chromium) as page:
        come_in(page, live, account)
        open_vote(page, live, project)
        top = "() => document.querySelector('[data-part=stage]').scrollTop"
        page.locator("[data-part=abstain]").focus()
        press(page, "PageDown")
        page.wait_for_function(f"() => ({top})() > 100")
        press(page, "PageUp")
        page.wait_for_function(f"() => ({top})() === 0")


def test_who_reads_on_keeps_the_item_as_long_as_the_page_is_seen(live, reader, monkeypatch):
    before = held_until(live, reader.project)
    monkeypatch.setattr(live.app.state, "clock", lambda: time.time() + 3.0, raising=False)
    with reader.expect_response("**/next"):
        reader.clock.fast_forward(3_000)  # nothing is touched
    assert len(before) == 2
    assert min(held_until(live, reader.project)) > max(before) + 1
    reader.evaluate(HIDE, True)
    asked = []
    reader.on("request", lambda request: asked.append(request.url))
    reader.clock.fast_forward(3_500)
    reader.wait_for_timeout(100)
    assert asked == []


def test_who_was_away_for_long_is_not_shown_what_went_to_others(live, reader):
    reader.evaluate(HIDE, True)
    shown = item_of(reader)
    reader.clock.fast_forward(5_300)
    for voter in ("ext:1", "ext:2", "ext:3"):
        act(live.projects, Request(reader.project, shown, voter, "vote", "cat", served=False), now=time.time())
    reader.evaluate(HIDE, False)
    reader.wait_for_function("(before) => document.querySelector('[data-vote]').dataset.item !== before", arg=shown)
    assert {item_of(reader), shown} == {"secret-0", "secret-1"}


def test_a_newcomer_without_items_is_not_thanked_and_new_items_come_by_themselves(live, chromium):
    nothing_yet, thanks = "[data-part=nothing]", "[data-part=thanks]"
    project, account = project_of(live)
    with window(chromium) as page:
        page.clock.install()
        come_in(page, live, account)
        page.goto(f"{live.url}/p/{project}/vote")
        page.locator(nothing_yet).wait_for()
        assert page.locator(thanks).is_hidden()
        add_items(live.projects, project, [NewItem("late", show=ItemContent(text="A late one " * 50))], now=2.0)
        page.clock.fast_forward(5_000)  # it asks again
        page.locator(".shown").wait_for()
        assert 20 < len(page.locator("[data-part=say]").inner_text()) <= SPOKEN
        press(page, "1")
        page.locator(thanks).wait_for()
        assert page.locator(nothing_yet).is_hidden()
        all_sent(page)
        page.reload()  # no longer a newcomer
        page.locator(thanks).wait_for()
        assert page.locator(nothing_yet).is_hidden()


def test_many_classes_are_found_by_typing(live, chromium):
    names = tuple(f"species {number}" for number in range(40))
    project, account = project_of(live, *texts(2), classes=names)
    with window(chromium) as page:
        come_in(page, live, account)
        open_vote(page, live, project)
        page.project = project
        keys, none_found = page.locator(".choices kbd:visible"), page.locator("[data-part=none-found]")
        assert keys.count() == 10
        page.keyboard.press("/")
        assert keys.count() == 0  # digits are typed here
        page.keyboard.type("37")
        assert none_found.is_hidden()
        press(page, "Enter")
        page.keyboard.press("/")
        page.keyboard.type("whale")
        none_found.wait_for()
        assert page.locator(".choices button:visible").count() == 0
        page.keyboard.press("Escape")
        assert (keys.count(), none_found.is_hidden()) == (10, True)
        all_sent(page)
        assert acts(live, page) == {"secret-0": ("vote", "species 37")}
