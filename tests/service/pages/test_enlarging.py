"""The voting page: images that can be enlarged, unbroken words on buttons, disabled buttons without an item."""

import io
import re

import pytest
from PIL import Image

from quorate.service.access.accounts import add_member, create_account
from quorate.service.domain.items import ItemContent, NewItem, add_items
from quorate.service.domain.settings import ProjectSettings
from tests.service.pages.conftest import window
from tests.service.pages.people import all_sent, ballots_of, come_in, item_of, open_vote, press
from tests.service.pages.test_looks import faults

FINDINGS = (
    "no finding", "enlarged cardiomediastinum", "cardiomegaly", "lung opacity", "lung lesion", "edema", "consolidation",
    "pneumonia", "atelectasis", "pneumothorax", "pleural effusion", "pleural other", "fracture",
)  # fmt: skip
SHOWN_AT = "() => document.querySelector('dialog img').getBoundingClientRect().toJSON()"
BROKEN_WORDS = """() => [...document.querySelectorAll(".choices button span")].filter((label) => {
    const text = label.firstChild;
    return [...text.data.matchAll(/\\S+/g)].some((word) => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length > 1;
    });
}).map((label) => label.textContent)"""


def picture(width, height):
    kept = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(kept, "PNG")
    return kept.getvalue()


def project_of(live, *shows, classes=("cat", "dog"), role="voter", **settings):
    """A project with these items, and somebody in it."""
    project = live.projects.create("Films", ProjectSettings(classes=classes, pool_size=3, **settings), now=1.0).id
    add_items(live.projects, project, [NewItem(f"secret-{n}", show=show) for n, show in enumerate(shows)], now=1.0)
    account = create_account(live.store, "Vera", now=1.0).id
    add_member(live.store, project, account, role=role, now=1.0)
    return project, account


def opened(page, live, project, account):
    """The voting page; images from other hosts are replaced by a portrait image."""
    page.route("**/*.png", lambda route: route.fulfill(body=picture(700, 1200), content_type="image/png"))
    come_in(page, live, account)
    open_vote(page, live, project)


def films(live, **more):
    return project_of(live, *[ItemContent(image=f"https://films.example/{n}.png") for n in range(3)], **more)


@pytest.fixture
def desk(live, chromium):
    project, account = films(live, instructions="Look at the heart first.\n" * 6)
    with window(chromium, bypass_csp=False) as page:
        opened(page, live, project, account)
        page.locator(".shown .enlarge:enabled").wait_for()  # the image has loaded
        page.project = project
        yield page


def test_a_portrait_image_gets_most_of_the_height_of_the_window(desk):
    box = desk.locator(".shown img").bounding_box()
    assert box["height"] > 600
    assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("way", ["click", "key", "enter"])
def test_a_click_or_a_key_shows_the_image_over_the_whole_window_and_closes_it(desk, way):
    image = desk.locator(".shown .enlarge")
    if way == "click":
        image.click()
    elif way == "key":
        desk.keyboard.press("z")
    else:
        image.focus()
        desk.keyboard.press("Enter")
    desk.wait_for_function("() => document.querySelector('dialog img').getBoundingClientRect().height > 790")
    assert desk.evaluate("() => document.querySelector('dialog').contains(document.activeElement)")
    if way == "click":
        desk.mouse.click(400, 300)
    else:
        desk.keyboard.press({"key": "Z", "enter": "Escape"}[way])
    desk.locator("dialog").wait_for(state="hidden")
    if way != "key":
        assert image.evaluate("(each) => each === document.activeElement")


def test_wheel_and_keys_enlarge_it_further_and_dragging_moves_it(desk):
    desk.keyboard.press("z")
    desk.wait_for_function("() => document.querySelector('dialog img').getBoundingClientRect().height > 790")
    desk.mouse.move(640, 200)
    desk.mouse.wheel(0, -600)
    desk.wait_for_function("() => document.querySelector('dialog img').getBoundingClientRect().height > 3000")
    before = desk.evaluate(SHOWN_AT)
    assert before["top"] + (200 / 800) * before["height"] == pytest.approx(200, abs=2)  # the point under the pointer
    desk.mouse.down()
    desk.mouse.move(600, 150, steps=3)
    desk.mouse.up()
    after = desk.evaluate(SHOWN_AT)
    assert (after["left"] - before["left"], after["top"] - before["top"]) == pytest.approx((-40, -50), abs=1)
    assert desk.locator("dialog").is_visible()  # a drag is no click
    desk.keyboard.press("ArrowDown")
    assert desk.evaluate(SHOWN_AT)["top"] < after["top"]
    desk.keyboard.press("-")
    assert desk.evaluate(SHOWN_AT)["height"] < after["height"]


def test_an_answer_by_key_while_it_is_large_counts_and_shows_the_next_item(live, desk):
    item = item_of(desk)
    press(desk, "z")
    press(desk, "2")
    desk.locator("dialog").wait_for(state="hidden")
    all_sent(desk)
    assert [each[1:] for each in ballots_of(live, desk.project)] == [(item, "vote", "dog")]


def test_on_a_phone_a_tap_enlarges_and_two_fingers_do_further(live, chromium):
    project, account = films(live)
    with window(chromium, phone=True, bypass_csp=True) as page:
        opened(page, live, project, account)
        page.locator(".shown img").tap()
        page.wait_for_function("() => document.querySelector('dialog img').getBoundingClientRect().width > 380")
        before = page.evaluate(SHOWN_AT)
        assert faults(page) == []
        touch = page.context.new_cdp_session(page)
        for kind, gap in (("touchStart", 40), *(("touchMove", gap) for gap in range(50, 150, 10))):
            points = [{"x": 195 - gap, "y": 400, "id": 0}, {"x": 195 + gap, "y": 400, "id": 1}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(30)
        page.wait_for_function(
            "(width) => document.querySelector('dialog img').getBoundingClientRect().width > 2 * width",
            arg=before["width"],
        )
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.locator("dialog").get_by_role("button", name="Close").tap()
        page.locator("dialog").wait_for(state="hidden")


def test_after_a_tap_no_answer_stays_marked_on_the_next_item(live, chromium):
    project, account = project_of(live, *[ItemContent(text=f"Text {n}") for n in range(3)])
    with window(chromium, phone=True) as page:
        opened(page, live, project, account)
        page.wait_for_timeout(150)
        page.get_by_role("button", name="cat").tap()
        all_sent(page)
        marks = (
            "() => [...document.querySelectorAll('.choices button')].map((each) => getComputedStyle(each).borderColor)"
        )
        assert len(set(page.evaluate(marks))) == 1
        assert page.evaluate("() => document.activeElement.closest('.choices')") is None


def test_nothing_can_be_pressed_while_nothing_is_asked(live, chromium):
    project, account = project_of(live)
    with window(chromium) as page:
        come_in(page, live, account)
        page.goto(f"{live.url}/p/{project}/vote")
        page.locator("[data-part=nothing]").wait_for()
        assert page.locator(".bar button:enabled").count() == 0
        add_items(live.projects, project, [NewItem("late", show=ItemContent(text="Late one"))], now=2.0)
        page.get_by_text("Late one", exact=True).wait_for()
        assert page.locator(".choices button:disabled").count() == 0


def test_a_pause_is_told_as_one_and_ends_by_itself(live, chromium):
    project, account = project_of(live, ItemContent(text="One"), ItemContent(text="Two"))
    live.projects.change(project, state="paused", now=2.0)
    with window(chromium) as page:
        come_in(page, live, account)
        page.goto(f"{live.url}/p/{project}/vote")
        page.get_by_text("Paused by the project's owner.").first.wait_for()
        said = page.locator("[data-part=stage]").inner_text()
        assert re.sub(r"\s+", " ", said).strip() == "Paused by the project's owner. This page continues automatically."
        assert page.locator("[data-part=stage] svg:visible").count() == 0
        assert page.locator(".bar button:enabled").count() == 0
        live.projects.change(project, state="active", now=3.0)
        page.locator(".shown").wait_for()
        live.projects.change(project, state="paused", now=4.0)  # in the middle of the work
        for key in "11":
            press(page, key)
        page.get_by_role("heading", name="Paused by the project's owner.").wait_for()


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_no_class_name_is_broken_within_a_word(live, chromium, phone):
    project, account = project_of(live, ItemContent(text="One"), classes=FINDINGS)
    with window(chromium, phone=phone) as page:
        opened(page, live, project, account)
        assert page.evaluate(BROKEN_WORDS) == []
        assert page.evaluate("() => document.querySelector('.choices').scrollWidth") <= page.evaluate(
            "() => document.querySelector('.choices').clientWidth"
        )


def test_three_answers_fill_the_width_of_a_phone(live, chromium):
    project, account = project_of(live, ItemContent(text="One"), classes=("cat", "dog", "fox"))
    with window(chromium, phone=True) as page:
        opened(page, live, project, account)
        boxes = [each.bounding_box() for each in page.locator(".choices button").all()]
        assert all(box["width"] > 350 for box in boxes)


def test_an_item_that_is_a_link_shows_a_button_and_not_its_id(live, chromium):
    project, account = project_of(live, ItemContent(link="https://films.example/1"))
    with window(chromium) as page:
        opened(page, live, project, account)
        link = page.get_by_role("link", name="Open the link")
        assert link.bounding_box()["height"] >= 44
        assert "secret" not in page.locator("main").inner_text()


def test_the_name_of_the_project_leads_its_owner_back_and_a_voter_nowhere(live, chromium):
    for role, links in (("owner", 1), ("voter", 0)):
        project, account = project_of(live, ItemContent(text="One"), role=role)
        with window(chromium) as page:
            opened(page, live, project, account)
            assert page.get_by_role("link", name="Films").count() == links
            if links:
                page.get_by_role("link", name="Films").click()
                page.wait_for_url(f"**/p/{project}")


def test_a_phone_is_not_told_of_a_key_it_lacks(live, chromium):
    project, account = project_of(live, ItemContent(text="One"), classes=FINDINGS)
    for phone, seen in ((True, False), (False, True)):
        with window(chromium, phone=phone) as page:
            opened(page, live, project, account)
            assert page.get_by_placeholder("Find an answer").get_attribute("placeholder") == "Find an answer"
            assert page.locator(".filter kbd").is_visible() is seen
