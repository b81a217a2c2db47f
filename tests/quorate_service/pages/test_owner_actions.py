"""Owners act on open items from the pages: the forms exist, and their actions are carried out and stored."""

import re

from sqlalchemy import select, update

from quorate_service.access.accounts import add_member, create_account, list_members
from quorate_service.domain.events import list_actions, project_events
from quorate_service.domain.items import ItemContent, NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.store.schema import image_reports, items
from tests.quorate_service.pages.conftest import window
from tests.quorate_service.pages.people import come_in, project_of
from tests.quorate_service.pages.world import made_world


def test_an_owner_changes_pools_withdraws_and_closes_on_the_pages(tmp_path):
    with made_world(tmp_path) as world:
        browser, projects = world.browser("owner"), Projects(world.store)
        made = projects.create("mine", ProjectSettings(classes=["a", "b"], pool_size=5, method="ask-all"), now=1.0)
        add_member(world.store, made.id, world.people["owner"], role="owner", now=1.0)
        add_member(world.store, made.id, world.people["voter"], role="voter", now=1.0)
        add_items(projects, made.id, [NewItem("x"), NewItem("y")], now=1.0)
        here = f"/p/{made.id}"
        shown = browser.get(here).text
        assert 'data-short="2"' in shown and "data-live-sign" in shown
        assert f"{here}/open-items/pool" in browser.get(f"{here}/settings").text
        assert f"{here}/item/change" in browser.get(f"{here}/item?id=x").text
        change = {"item/change?id=y": {"change": "withdraw"}}
        forms = {"open-items/pool": {"pool_size": "3"}, **change, "open-items/close": {}}
        for path, form in forms.items():
            sent = browser.post(f"{here}/{path}", data=form, follow_redirects=False)
            assert sent.status_code == 303, sent.text
            assert hasattr(world.app.state, "batch_threads"), "not in the threads of voters"
        assert browser.get(f"{here}/item?id=x").status_code == 200
        with world.store.write() as connection:
            connection.execute(update(items).where(items.c.project_id == made.id).values(set_aside=1.0))
            reported = {"project_id": made.id, "voter": world.people["voter"], "time": 1.0}
            ids = connection.execute(select(items.c.id).where(items.c.project_id == made.id)).scalars().all()
            connection.execute(image_reports.insert(), [reported | {"item_id": each} for each in ids])
        assert 'value="clear"' in browser.get(f"{here}/item?id=x").text
        withdrawn = browser.get(f"{here}/item?id=y").text
        assert 'value="clear"' not in withdrawn, "to clear it would ask nobody"
        assert 'value="restore"' in withdrawn and "data-withdrawn" in withdrawn
        assert browser.get(f"{here}/items?state=withdrawn").text.count("/item?id=") == 1
        with world.store.read() as connection:
            done = [each.kind for each in list_actions(connection, made.id) if each.who]
            events = [(row.kind, row.signed_in_by) for row in project_events(connection, made.id)]
        assert done == ["pool", "pool", "withdraw", "close-open"]
        kept = [each for each in events if each[0] in ("abstain", "close")]
        assert kept == [*4 * [("abstain", "test")], ("close", "test")], "two places less for x and y, x closed"


def test_an_owner_acts_on_the_chosen_items_or_on_all_that_match(tmp_path):
    with made_world(tmp_path) as world:
        browser, here = world.browser("owner"), world.address("/items")
        batch = [NewItem(f"film-{n}", show=ItemContent(text="dark" if n % 2 else "bright")) for n in range(60)]
        batch.append(NewItem("x-ray", show=ItemContent(image="https://films.example/1.png")))
        add_items(world.app.state.projects, world.project, batch, now=1.0)
        assert 'class="thumb" src="https://films.example/1.png"' in browser.get(f"{here}?search=x-ray").text

        def left(query="?search=film"):
            return int(re.search(r"(\d+) items? found", browser.get(f"{here}{query}").text)[1])

        def change(query, **fields):
            sent = browser.post(f"{here}/change{query}", data=fields)
            assert sent.status_code == 303
            return int(re.search(r"number=(\d+)", sent.headers["location"])[1])

        shown = browser.get(f"{here}?search=film").text
        assert shown.count('name="item"') == 50 and "bright" in shown
        assert 'name="item"' not in world.browser("reader").get(here).text
        chosen = {"item": ["film-0", "film-1"]}
        assert [change("", change="withdraw", **chosen), left("?state=withdrawn&search=film")] == [2, 2]
        assert change("?search=dark", change="withdraw", every="yes") == 29
        assert change("?search=film&state=withdrawn", change="restore", every="yes") == 31
        assert left("?state=withdrawn&search=film") == 0
        assert change("", change="withdraw") == 0, "nothing chosen"
        assert browser.post(f"{here}/change", data={"change": "burn", **chosen}).status_code == 422


def test_nobody_is_made_an_owner_by_a_slip(live, chromium):
    project, olga = project_of(live, role="owner")
    ann = create_account(live.store, "Ann", now=1.0).id
    add_member(live.store, project, ann, role="voter", now=1.0)

    def role_of_ann():
        return {each.account_id: each.role for each in list_members(live.store, project)}[ann]

    with window(chromium) as page:
        come_in(page, live, olga)
        page.goto(f"{live.url}/p/{project}/people")
        asked = []
        role = page.get_by_label("Role of Ann", exact=True)
        role.focus()
        for key in ("ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp"):  # through the choices, up to owner
            page.keyboard.press(key)
        assert (role.input_value(), role_of_ann()) == ("owner", "voter")
        assert page.get_by_role("status").get_by_text("not saved").is_visible()
        page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
        change = page.get_by_label("Change the role of Ann")
        change.click()
        assert asked[0].startswith("Make Ann an owner?") and role_of_ann() == "voter"
        role.select_option("reader")
        change.click()  # is not asked
        page.get_by_text("The role was changed.").wait_for()
        assert role_of_ann() == "reader"
        page.once("dialog", lambda dialog: dialog.accept())
        role.select_option("owner")
        with page.expect_navigation():
            change.click()
        assert role_of_ann() == "owner"


def test_reloading_what_a_form_made_makes_no_second(tmp_path):
    with made_world(tmp_path) as world:
        browser, people, data = world.browser("owner"), world.address("/people"), world.address("/data")
        url = "https://example.org/told"
        forms = {
            f"{people}/invite": {"name": "nurses", "role": "senior"},
            f"{people}/key": {"name": "nightly"},
            f"{data.removesuffix('data')}webhooks/add": {"url": url, "item.completed": "yes"},
            "/sign-in-link": {},
        }
        made = ("/join/", "qk_", "whsec_", "/link/")
        for (path, fields), secret in zip(forms.items(), made, strict=True):
            sent = [browser.post(path, data=fields | {"form": f"{path} {n}"}) for n in (1, 1, 2)]
            assert [each.status_code for each in sent] == [200, 303, 200], path
            assert all(secret in each.text for each in (sent[0], sent[2]))
        assert browser.get(people).text.count("End invitation nurses") == 2
        assert browser.get(data).text.count(f"Remove: {url}") == 2
        token = re.search(r"/join/([\w-]+)", sent_link(browser, people))[1]
        joined = world.browser("nobody").post(f"/join/{token}", data={"name": "Sen"})
        assert joined.headers["location"] == world.address("")
        member = next(each for each in list_members(world.store, world.project) if each.name == "Sen")
        assert member.role == "senior"


def sent_link(browser, people):
    return browser.post(f"{people}/invite", data={"name": "more", "role": "senior"}).text
