"""Instructions are Markdown with links and pictures, which owners drop there; nothing in them runs or leads astray."""

import re

import pytest

from quorate_service.pages.instructions import as_html
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import come_in, open_vote, project_of, texts
from tests.quorate_service.pages.test_enlarging import picture
from tests.quorate_service.pages.world import made_world

DROP = """([field, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "mild.png", { type: "image/png" }));
    field.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_text_links_and_pictures_are_shown():
    shown = as_html("# Look\n**for** it\n\n![mild](upload:u_7) [more](https://a.example/b?c=1&d=2)", "p_1")
    for part in (
        "<h3>Look</h3>",
        "<strong>for</strong>",
        'src="/media/p_1/u_7"',
        'href="https://a.example/b?c=1&amp;d=2"',
    ):
        assert part in shown


@pytest.mark.parametrize("text", [
    "<script>x</script>", "<img src=x onerror=x>", "[a](javascript:x)", "[a](/sign-out)", "[a](data:text/html,x)",
    "![a](javascript:x)", "![a](data:image/png;base64,AAAA)", "![a](https://127.0.0.1/x)", "![a](//host/x)",
    '![a](https://a.example/" onerror="x)', "<javascript:x>",
])  # fmt: skip
def test_html_scripts_and_addresses_of_a_private_network_are_text(text):
    shown = as_html(text, "p_1")
    assert not any(start in shown for start in ("<script", "<img", "<a "))


def test_an_owner_drops_a_picture_and_voters_see_it(live, chromium):
    project, owner = project_of(live, *texts(1), role="owner", instructions="**Old**")
    with window(chromium) as page:
        come_in(page, live, owner)
        page.goto(f"{live.url}/p/{project}/settings")
        field = page.locator("#instructions")
        field.press("Control+End")
        page.evaluate(DROP, [field.element_handle(), list(picture(60, 40))])
        page.wait_for_function("() => document.getElementById('instructions').value.includes('](upload:')")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved.").wait_for()
        open_vote(page, live, project)
        assert page.locator(".prose strong").inner_text() == "Old"
        page.wait_for_function("() => document.querySelector('.prose img').naturalWidth === 60")


def test_voters_see_instructions_again_only_after_these_have_changed(tmp_path):
    with made_world(tmp_path) as world:

        def mark(**changes):
            world.app.state.projects.change(world.project, now=2.0, **changes)
            shown = world.browser("voter").get(world.address("/vote")).text
            return re.search('data-part="instructions" data-version="([^"]+)"', shown).group(1)

        first = mark(price=2.0)
        assert mark(price=3.0) == first != mark(instructions="Look twice.")
