"""Details of the owner's pages: what is named or summed up, confirmations, no-break spaces."""

import re
import time
from html import unescape

import pytest

from quorate.service.access.accounts import add_member, create_account, list_members
from quorate.service.access.invitations import accept, create_invitation
from quorate.service.domain.ballots import act
from quorate.service.domain.items import NewItem, add_items
from quorate.service.domain.settings import ProjectSettings
from quorate.service.domain.votes import Request
from quorate.service.pages.formats import together
from tests.service.pages.conftest import window
from tests.service.pages.people import come_in
from tests.service.pages.world import NASTY


def owned(store, projects, account, num_classes):
    """A project of this owner in which each class is the answer of one item."""
    now = time.time()
    classes = tuple(f"class {number:02d}" for number in range(num_classes))
    project = projects.create("Many", ProjectSettings(classes=classes, pool_size=1, audit_rate=0.0), now=now).id
    add_member(store, project, account, role="owner", now=now)
    add_items(projects, project, [NewItem(name) for name in classes], now=now)
    for name in classes:
        act(projects, Request(project, name, "ext:ann", "vote", name, served=False), now=now)
    return project


@pytest.mark.parametrize(("num_classes", "folded"), [(8, []), (9, []), (10, ["2 others"]), (13, ["5 others"])])
def test_an_answer_is_folded_away_only_with_others(world, num_classes, folded):
    project = owned(world.store, world.app.state.projects, world.people["owner"], num_classes)
    page = world.browser("owner").get(f"/p/{project}").text
    answers = page.partition("Answers")[2].partition("</section>")[0]
    assert re.findall(r"\d+ others", answers) == folded
    assert len(re.findall(r">class \d\d<", answers)) == (8 if folded else num_classes)
    assert "1 more classes" not in page


def test_an_invitation_that_is_used_up_says_so(world):
    _, link = create_invitation(
        world.store, world.project, "", role="reader", name="single", most_uses=1, now=time.time()
    )
    browser = world.browser("owner")
    assert "used up" not in browser.get(world.address("/people")).text
    accept(world.store, link.rpartition("/")[2], name="Sina", form=None, now=time.time())
    assert "1 of 1 joined · used up" in browser.get(world.address("/people")).text


def test_numbers_are_not_separated_from_their_percent_sign(world):
    for end in ("", "/items", "/item?id=a"):
        page = re.sub(r"<[^>]*>", "", world.browser("owner").get(world.address(end)).text)
        assert "\u00a0%" in page
        assert not re.search(r"\d\s*[ \n]%", page)
    assert together("77.6 % of 5 %") == "77.6\u00a0% of 5\u00a0%"


def test_nobody_is_made_an_owner_by_a_slip(live, chromium):
    olga, ann = (create_account(live.store, name, now=1.0).id for name in ("Olga", "Ann"))
    project = live.projects.create("Shared", ProjectSettings(classes=("a", "b"), pool_size=3), now=1.0).id
    for account, role in ((olga, "owner"), (ann, "voter")):
        add_member(live.store, project, account, role=role, now=1.0)

    def role_of_ann():
        return {each.account_id: each.role for each in list_members(live.store, project)}[ann]

    with window(chromium) as page:
        come_in(page, live, olga)
        page.goto(f"{live.url}/p/{project}/people")
        asked = []
        page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
        page.get_by_label("Role of Ann").select_option("owner")
        assert asked[0].startswith("Make Ann an owner?")
        assert page.get_by_label("Role of Ann").input_value() == "voter"
        page.get_by_label("Role of Ann").select_option("reader")  # is not asked
        page.get_by_text("The role was changed.").wait_for()
        assert role_of_ann() == "reader"
        page.once("dialog", lambda dialog: dialog.accept())
        with page.expect_navigation():
            page.get_by_label("Role of Ann").select_option("owner")
        assert role_of_ann() == "owner"


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_button_that_chooses_files_stands_in_the_middle(live, chromium, phone):
    olga = create_account(live.store, "Olga", now=1.0).id
    project = live.projects.create("Files", ProjectSettings(classes=("a", "b"), pool_size=3), now=1.0).id
    add_member(live.store, project, olga, role="owner", now=1.0)
    with window(chromium, phone=phone) as page:
        come_in(page, live, olga)
        page.goto(f"{live.url}/p/{project}/data")
        drop, button = page.locator(".drop").bounding_box(), page.get_by_text("Choose files").bounding_box()
        assert drop["x"] + drop["width"] / 2 == pytest.approx(button["x"] + button["width"] / 2, abs=1)
        preview = page.get_by_role("button", name="Preview", include_hidden=True)
        assert preview.is_hidden()  # a chosen file is previewed at once
        with page.expect_file_chooser():
            page.get_by_text("Choose files").click()


def item_pages(world):
    """The pages of both items: the first has a prediction and a vote, the second neither."""
    browser = world.browser("owner")
    return {name: browser.get(world.address("/item"), params={"id": name}).text for name in ("a", NASTY)}


def test_a_classifier_without_a_prediction_says_nothing(world):
    pages = item_pages(world)
    cells = {name: re.findall(r'<td class="right">([^<]*)</td>', page)[::2] for name, page in pages.items()}
    assert cells == {"a": ["61.2\u00a0%", "38.8\u00a0%"], NASTY: ["–", "–"]}
    assert "classifier has no prediction for this item" in pages[NASTY]
    assert "has no prediction" not in pages["a"]


def test_one_decision_comes_out_the_same_and_several_come(world):
    pages = item_pages(world)
    assert "The one decision, recomputed from the events, is the same." in pages[NASTY]
    assert "All 2 decisions recomputed from the events are the same." in pages["a"]


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1:8123", ":8123"), ("localhost", "")])
def test_the_hint_of_an_invitation_names_the_port_of_its_link(world, host, told):
    browser = world.browser("owner")
    headers = {"Host": host, "Origin": f"http://{host}"}
    data = {"name": "x", "role": "voter"}
    page = browser.post(world.address("/people/invite"), data=data, headers=headers).text
    assert f"--base-url http://THIS-MACHINE{told}</code>" in page


def test_a_tie_is_shown_on_the_items_page(world):
    projects, now = world.app.state.projects, time.time()
    classes = ("billing", "delivery", "quality")
    settings = ProjectSettings(classes=classes, pool_size=5, min_votes=5, audit_rate=0.0)
    project = projects.create("Complaints", settings, now=now).id
    add_member(world.store, project, world.people["owner"], role="owner", now=now)
    add_items(projects, project, [NewItem("late")], now=now)
    for number, label in enumerate(("billing", "delivery", "quality", "delivery", "billing")):
        act(projects, Request(project, "late", f"ext:{number}", "vote", label, served=False), now=now)
    page = unescape(world.browser("owner").get(f"/p/{project}/item?id=late").text)
    assert "'billing' and 'delivery' tie at 2 votes each, and the answer was drawn between them: '" in page
