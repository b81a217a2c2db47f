"""The voting page: images that can be enlarged, and what it says and does while nothing is asked."""

import io

import pytest
from PIL import Image

from quorate_service.domain.items import ItemContent, NewItem, add_items
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import all_sent, ballots_of, come_in, item_of, open_vote, press, project_of


def picture(width, height):
    kept = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(kept, "PNG")
    return kept.getvalue()


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


def test_an_answer_by_key_while_it_is_large_counts_and_shows_the_next_item(live, desk):
    item = item_of(desk)
    press(desk, "z")
    press(desk, "2")
    desk.locator("dialog").wait_for(state="hidden")
    all_sent(desk)
    assert [each[1:] for each in ballots_of(live, desk.project)] == [(item, "vote", "dog")]


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
        assert page.locator(".bar button:enabled").count() == 0
        live.projects.change(project, state="active", now=3.0)
        page.locator(".shown").wait_for()
        live.projects.change(project, state="paused", now=4.0)  # in the middle of the work
        for key in "11":
            press(page, key)
        page.get_by_role("heading", name="Paused by the project's owner.").wait_for()


def test_an_item_that_is_a_link_shows_a_button_and_not_its_id(live, chromium):
    project, account = project_of(live, ItemContent(link="https://films.example/1"))
    with window(chromium) as page:
        opened(page, live, project, account)
        page.get_by_role("link", name="Open the link").wait_for()
        assert "secret" not in page.locator("main").inner_text()
