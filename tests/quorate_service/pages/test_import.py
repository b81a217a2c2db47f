"""Images dropped with and without a table: uploaded, previewed, stored, and shown to voters."""

import re

from quorate_service.demo import digits
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import come_in, item_of, open_vote, project_of, store_file


def image(name, number):
    return {"name": name, "mimeType": "image/png", "buffer": digits().files[number]}


def test_images_come_with_their_table_or_alone_and_voters_see_them(live, chromium):
    project, owner = project_of(live, classes=("0", "1"), role="owner")
    table = {
        "name": "t.csv",
        "mimeType": "text/csv",
        "buffer": b"id,image,0,1\nfirst,one.png,0.9,0.1\nsecond,gone.png,,\n",
    }
    with window(chromium) as page:
        come_in(page, live, owner)
        page.goto(f"{live.url}/p/{project}/data")
        page.set_input_files("#file", files=[image("one.png", 1), table])
        page.get_by_text("image='gone.png'; expected an image that was dropped with the table").wait_for()
        store_file(page)
        page.set_input_files("#file", files=[image("two.png", 2), image("three.png", 3)])
        page.get_by_text("2 can be stored").wait_for()
        store_file(page)
        open_vote(page, live, project)
        page.wait_for_function("() => document.querySelector('.shown img').naturalWidth > 0")
        shown = item_of(page)
        assert shown in ("first", "two", "three")
        assert shown not in page.locator("[data-part=stage]").inner_text()  # an id may give the answer away
        page.goto(f"{live.url}/p/{project}/item?id=first")
        page.wait_for_function("() => document.querySelector('.shown img').naturalWidth > 0")


def test_a_file_that_is_no_image_is_refused_in_words(live, chromium):
    project, owner = project_of(live, role="owner")
    with window(chromium) as page:
        come_in(page, live, owner)
        page.goto(f"{live.url}/p/{project}/data")
        fake = {"name": "fake.png", "mimeType": "image/png", "buffer": b"<svg onload=alert(1)>"}
        page.set_input_files("#file", files=[fake])
        page.get_by_text(re.compile("fake.png: ")).wait_for()
        assert page.locator("[data-store]").count() == 0
