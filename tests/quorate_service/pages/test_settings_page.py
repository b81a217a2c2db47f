"""The settings page as a browser submits it: untouched fields stay exact and are not reported as changes."""

import html
import re
import time
from html.parser import HTMLParser

import pytest
from sqlalchemy import func, select

from quorate_service.access.accounts import add_member
from quorate_service.domain.events import list_actions
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.webhooks import create_webhook
from quorate_service.pages.settings_form import as_form
from quorate_service.store.schema import deliveries, events
from tests.quorate_service.pages.world import made_world

SETTINGS = [
    {},
    {"error_cost": 123.45678901234},
    {"method": "value:error_cost=7,hyperprior=infexp"},
    {"budget": 7 / 3},
    {"target_error": 1 / 3, "audit_rate": 0.028},
    {"method": "finexp:threshold=0.9"},
    {"method": "until-settled", "min_votes": 2, "max_votes": 7},
    {"audit_rate": 0.0070001, "price": 1e-5, "lease_seconds": 30.123456},
    {"currency": " € ", "instructions": " two\nlines \n"},
    {"display_names": {"dog": 'Dog or "puppy"'}},
    {"gold_share": 1 / 3, "adjudicate_below": 2 / 3},
    {"adjudicate_below": 0.0},
]


class Form(HTMLParser):
    """The fields that a browser would submit of the form with this action."""

    def __init__(self, page, action):
        super().__init__()
        self.sent, self._action, self._here, self._select, self._area = {}, action, False, None, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self._here = given.get("action") == self._action
        if not self._here:
            return
        if tag == "input" and (given.get("type") not in ("radio", "checkbox") or "checked" in given):
            self.sent[given["name"]] = given.get("value", "")
        if tag == "select":
            self._select = given["name"]
        if tag == "option" and ("selected" in given or self._select not in self.sent):
            self.sent[self._select] = given["value"]
        if tag == "textarea":
            self._area = given["name"]
            self.sent[self._area] = ""

    def handle_data(self, data):
        if self._area:
            self.sent[self._area] += data.replace("\n", "\r\n")

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._area = None
        if tag == "form":
            self._here = False


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with made_world(tmp_path_factory.mktemp("settings")) as made:
        yield made


def made_project(world, given):
    """A project with these settings."""
    base = {"classes": ["cat", "dog", "fox"], "pool_size": 9}
    project = world.app.state.projects.create("Animals", ProjectSettings.from_json(base | given), now=time.time()).id
    add_member(world.store, project, world.people["owner"], role="owner", now=time.time())
    create_webhook(
        world.store, project, "https://example.org/x", ["project.changed"], allow_private=False, now=time.time()
    )
    return project


def tolds(world, project):
    """How many events and deliveries there are."""
    with world.store.read() as connection:
        here = select(func.count()).select_from(events).where(events.c.project_id == project)
        return [connection.execute(each).scalar_one() for each in (here, select(func.count()).select_from(deliveries))]


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_untouched_fields_stay_and_are_not_reported(world, given):
    project, kept, owner = made_project(world, given), world.app.state.projects, world.browser("owner")
    before, (num_events, num_told) = kept.get(project), tolds(world, project)
    path = f"/p/{project}/settings"
    form = Form(owner.get(path).text, path).sent
    answer = owner.post(path, data=form)
    assert answer.status_code == 303, answer.text
    after = kept.get(project)
    assert (after.settings, after.name, after.state) == (before.settings, before.name, before.state)
    assert tolds(world, project) == [num_events, num_told]
    assert owner.post(path, data=form | {"instructions": "Look twice."}).status_code == 303
    assert kept.get(project).settings.as_json() == before.settings.as_json() | {"instructions": "Look twice."}
    assert tolds(world, project) == [num_events, num_told + 1]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ({"budget": "4,5"}, {"budget": 4.5}),
        ({"target_error": "2 %"}, {"target_error": 0.02}),
        ({"error_cost": "100"}, {"error_cost": 100.0}),
        ({"audit_rate": "12,5 %", "price": "0,08"}, {"audit_rate": 0.125, "price": 0.08}),
        ({"max_votes": "4", "min_votes": "2"}, {"max_votes": 4, "min_votes": 2}),
    ],
)
def test_touched_fields_change(world, typed, wanted):
    project, owner = made_project(world, {}), world.browser("owner")
    path = f"/p/{project}/settings"
    answer = owner.post(path, data=Form(owner.get(path).text, path).sent | typed)
    assert answer.status_code == 303, answer.text
    settings = world.app.state.projects.get(project).settings.as_json()
    assert {name: settings[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"pool_size": "0"}, "pool_size", "“Experts in the pool”"),
        ({"min_votes": "many"}, "min_votes", "many"),
        ({"min_votes": "10"}, "min_votes", "“Experts in the pool”"),
        ({"gold_share": "60"}, "gold_share", "50 %"),
        ({"error_cost": "1,000"}, "error_cost", "1.000"),
        ({"budget": "3", "target_error": "2"}, "target_error", "“Votes per item”"),
    ],
)
def test_errors_name_labels_and_limits_as_shown_and_mark_the_field(world, typed, field, said):
    project, owner = made_project(world, {}), world.browser("owner")
    path = f"/p/{project}/settings"
    answer = owner.post(path, data=Form(owner.get(path).text, path).sent | typed)
    assert answer.status_code == 422 and said in html.unescape(answer.text)
    assert re.findall(r'id="(\w+)" aria-invalid="true"', answer.text) == [field]


def test_a_corrected_name_is_on_every_page_while_the_vote_stores_the_class(world):
    project, owner, kept = made_project(world, {"method": "ask-all"}), world.browser("owner"), world.app.state.projects
    add_items(kept, project, [NewItem("x", [0.1, 0.8, 0.1])], now=time.time())
    path = f"/p/{project}/settings"
    form = Form(owner.get(path).text, path).sent
    assert form["display_name_1"] == ""
    refused = owner.post(path, data=form | {"display_name_1": "cat"})
    assert refused.status_code == 422 and refused.text.count('aria-invalid="true"') == 1
    assert owner.post(path, data=form | {"display_name_1": "Hound"}).status_code == 303
    assert kept.get(project).settings.display_names == {"dog": "Hound"}
    with world.store.read() as connection:
        action = list_actions(connection, project)[-1]
    assert (action.kind, action.who) == ("change", world.people["owner"])
    assert action.body == {"display_names": {"dog": "Hound"}}
    buttons = re.findall(r'data-label="([^"]*)" data-name="([^"]*)"', owner.get(f"/p/{project}/vote").text)
    assert buttons == [("cat", "cat"), ("dog", "Hound"), ("fox", "fox")]
    api = f"/api/v1/projects/{project}"
    leased = owner.post(f"{api}/next", json={}).json()
    assert leased["classes"] == ["cat", "dog", "fox"]
    voted = owner.post(f"{api}/votes", json={"item": "x", "label": buttons[1][0]})
    assert voted.status_code == 200 and voted.json()["recorded"]["label"] == "dog", voted.text
    for page in ("", "/items", "/item?id=x"):
        shown = owner.get(f"/p/{project}{page}").text
        assert "Hound" in shown and not re.search(r">[^<]*\bdog\b", shown), page
    exported = owner.get(f"{api}/export?what=votes&format=csv").text
    assert "dog" in exported and "Hound" not in exported
    assert owner.get(api).json()["display_names"] == {"dog": "Hound"}
    assert owner.patch(api, json={"settings": {"display_names": {}}}).status_code == 200
    assert Form(owner.get(path).text, path).sent["display_name_1"] == ""


def test_a_new_name_moves_no_key(world):
    given = {"classes": ["0", "1", "2"], "display_names": {"1": "one"}}
    shown = world.browser("owner").get(f"/p/{made_project(world, given)}/vote").text
    assert re.findall(r'data-name="([^"]*)" data-key="([^"]*)"', shown) == [("0", "0"), ("one", "1"), ("2", "2")]


def test_two_tabs_change_different_settings_and_both_hold(world):
    project, owner, kept = made_project(world, {}), world.browser("owner"), world.app.state.projects
    path = f"/p/{project}/settings"
    first, second = (Form(owner.get(path).text, path).sent for _ in range(2))
    changes = {"pool_size": "8", "name": "Beasts", "display_name_1": "Hound", "instructions": "Look twice."}
    assert owner.post(path, data=first | changes).status_code == 303
    assert owner.post(path, data=second | {"price": "0.5", "display_name_2": "Vixen"}).status_code == 303
    after = kept.get(project)
    assert (after.name, after.settings.pool_size, after.settings.price) == ("Beasts", 8, 0.5)
    assert after.settings.instructions == "Look twice."
    assert after.settings.display_names == {"dog": "Hound", "fox": "Vixen"}


@pytest.mark.parametrize(
    ("name", "theirs", "mine"),
    [("pool_size", "8", "7"), ("name", "Beasts", "Pets"), ("display_name_1", "Hound", "Pup")],
)
def test_a_setting_that_changed_meanwhile_is_shown_with_both_values_before_it_is_replaced(world, name, theirs, mine):
    project, owner, kept = made_project(world, {}), world.browser("owner"), world.app.state.projects
    path = f"/p/{project}/settings"
    first, second = (Form(owner.get(path).text, path).sent for _ in range(2))
    assert owner.post(path, data=first | {name: theirs, "currency": "EUR"}).status_code == 303
    before = kept.get(project)
    refused = owner.post(path, data=second | {name: mine, "price": "0.5"})
    said = html.unescape(re.sub(r"<input.*?>", "", refused.text))
    assert refused.status_code == 409 and theirs in said and mine in said
    assert kept.get(project) == before
    again = Form(refused.text, path).sent
    assert (again[name], again["price"], again["currency"]) == (mine, "0.5", "EUR")
    assert owner.post(path, data=again).status_code == 303
    after = kept.get(project)
    assert as_form(after)[name] == mine and (after.settings.price, after.settings.currency) == (0.5, "EUR")


def test_both_tabs_may_make_the_same_change(world):
    project, owner = made_project(world, {}), world.browser("owner")
    path = f"/p/{project}/settings"
    form = Form(owner.get(path).text, path).sent | {"pool_size": "8"}
    assert [owner.post(path, data=form).status_code for _ in range(2)] == [303, 303]
