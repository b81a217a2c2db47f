"""Access to pages, cross-site forms, hostile names, and the content policy. Without a browser."""

import re
import time

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import select

from quorate_service.access import accounts, cookies, credentials, invitations
from quorate_service.access.cookies import sign, signing_key
from quorate_service.access.limits import ENTRY
from quorate_service.app import create_app
from quorate_service.config import ServiceConfig
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.votes import Request
from quorate_service.pages import router
from quorate_service.pages.rendering import qr_code
from quorate_service.store.schema import metadata
from tests.quorate_service.pages.world import NASTY, SAME

HTML = {"Accept": "text/html,application/xhtml+xml"}
PAGES = ("", "/live", "/items", "/item?id=a", "/data", "/people", "/access", "/settings", "/voters")
PAGES += ("/adjudicate", "/vote", "/vote/mine?since=0")
MAY = {  # status of each page, in this order
    "owner": (200,) * 12,
    "reader": (200, 200, 200, 200, 200, 403, 403, 403, 403, 403, 403, 403),
    "voter": (303, 403, 403, 403, 403, 403, 403, 403, 403, 403, 200, 200),
    "senior": (303, 403, 403, 403, 403, 403, 403, 403, 403, 200, 200, 200),
    "stranger": (404,) * 12,
    "nobody": (401,) * 12,
}
FORMS = (
    "/p/{}/settings", "/p/{}/people/invite", "/p/{}/people/uninvite", "/p/{}/people/role", "/p/{}/people/remove",
    "/p/{}/people/key", "/p/{}/people/unkey", "/p/{}/item/close?id=a", "/p/{}/item/change?id=a", "/p/{}/items/change",
    "/p/{}/import", "/new", "/p/{}/item/gold?id=a",
    "/p/{}/adjudicate",
    "/sign-out", "/sign-in-link", "/sign-out-everywhere", "/p/{}/webhooks/add", "/p/{}/webhooks/test",
    "/p/{}/webhooks/remove",
)  # fmt: skip


@pytest.mark.parametrize("role", MAY)
def test_each_role_sees_its_pages_and_no_other(world, role):
    browser = world.browser(role)
    found = tuple(browser.get(world.address(end), headers=HTML).status_code for end in PAGES)
    assert found == MAY[role]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("role", ["nobody", "stranger", "voter", "reader", "senior", "owner"])
def test_forms_of_other_sites_are_refused(world, form, role):
    browser = world.browser(role)
    address = form.format(world.project)
    site = {"Sec-Fetch-Site": "cross-site"}
    assert browser.post(address, data={"name": "x"}, headers=site).status_code in (401, 403, 404)
    del browser.headers["Sec-Fetch-Site"]
    assert browser.post(address, data={"name": "x"}).status_code in (401, 403, 404)


def flat(routes):
    """Every route, whether the framework nests routers or not."""
    for route in routes:
        inner = getattr(route, "original_router", route)
        yield from [route] if isinstance(route, APIRoute) else flat(inner.routes)


ROUTES = sorted((each.path, method) for each in flat(router.routes) for method in each.methods - {"HEAD", "OPTIONS"})


@pytest.mark.parametrize(("path", "method"), ROUTES)
@pytest.mark.parametrize("reach", ["one project", "all projects"])
@pytest.mark.parametrize("role", ["nobody", "owner"])  # who the cookie beside the key is of
def test_pages_refuse_api_keys(world, path, method, reach, role):
    owner, now = world.people["owner"], time.time()
    only = world.project if reach == "one project" else None
    _, secret = credentials.create_key(world.store, owner, name="k", project_id=only, now=now)
    _, join = invitations.create_invitation(world.store, world.project, "", role="reader", name="x", now=now)
    link = credentials.sign_in_link(world.store, owner, "", now=now)
    secrets = {"/join/{token}": join, "/link/{token}": link}
    address = secrets.get(path, path.format(project_id=world.project, token=""))
    before = kept(world)
    answer = world.browser(role).request(
        method, address, params={"id": "a", "since": "0"}, headers=HTML | {"Authorization": f"Bearer {secret}"},
        data=None if method == "GET" else {"name": "n", "key": secret, "as_me": "yes", "reach": "all", "role": "owner"},
    )  # fmt: skip
    assert answer.status_code == 403
    assert "an API key is for the API only" in answer.text
    assert "set-cookie" not in answer.headers
    assert {name: rows for name, rows in kept(world).items() if rows != before[name]} == {}


def kept(world):
    """Every row of the tables that pages write."""
    names = (
        "accounts",
        "api_keys",
        "deliveries",
        "events",
        "invitations",
        "links",
        "memberships",
        "projects",
        "webhooks",
    )
    with world.store.read() as connection:
        return {name: connection.execute(select(metadata.tables[name])).all() for name in names}


@pytest.mark.parametrize("form", [each for each in FORMS if "/p/" in each])
@pytest.mark.parametrize("role", ["stranger", "voter", "reader", "senior"])
def test_only_owners_change_a_project(world, form, role):
    if role == "senior" and form.endswith("/adjudicate"):
        pytest.skip("a senior's own form")
    browser = world.browser(role)
    answer = browser.post(form.format(world.project), data={"name": "x"})
    assert answer.status_code == (404 if role == "stranger" else 403)


def test_every_page_is_safe_under_the_content_policy_and_escapes_what_people_write(world):
    owner, voter, nobody = (world.browser(role) for role in ("owner", "voter", "nobody"))
    _, join = invitations.create_invitation(
        world.store, world.project, "", role="voter", name=NASTY[:80], now=time.time()
    )
    link = credentials.sign_in_link(world.store, world.people["owner"], "", now=time.time())
    answers = [owner.get(world.address(end), headers=HTML) for end in PAGES[:-1]]
    answers += [owner.get(f"/p/{world.project}/item", params={"id": NASTY}), voter.get(world.address("/vote"))]
    answers += [nobody.get(path, headers=HTML) for path in ("/", join, link, "/p/none")]
    answers += [owner.get("/new"), owner.get("/"), voter.get(world.address("/settings"), headers=HTML)]
    for answer in answers:
        page = answer.text
        assert "<script>alert" not in page
        assert "49" not in re.sub(r"[\w.:-]{3,}", "", page)
        assert not re.search(r"<[^>]+\s(style|on\w+)=", page), answer.url
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), answer.url
        assert "<style" not in page
        assert not re.search(r'(src|href)="(https?:)?//(?!example.org)', page), answer.url
        assert "script-src 'self'; style-src 'self'" in answer.headers["content-security-policy"]


def test_the_voter_s_html_says_nothing_of_predictions_and_votes(world):
    page = world.browser("voter").get(world.address("/vote")).text
    for word in ("0.61", "61.2", "confidence", "theta"):
        assert word not in page


def test_no_page_shows_a_voter_the_figures_of_others(world):
    now, projects = time.time(), world.app.state.projects
    add_items(projects, world.project, [NewItem(f"gold-{n}", gold="dog") for n in range(6)], now=now)
    for number in range(6):
        act(projects, Request(world.project, f"gold-{number}", "ext:secret-bert", "vote", NASTY, served=False), now=now)
    jobs = world.app.state.jobs
    jobs.hold(world.project, "people")
    jobs.compute_people(world.project)
    ends = [each.removeprefix("/p/{project_id}") for each, method in ROUTES if method == "GET" and "/p/{" in each]
    shown, seen = (
        "\n".join(world.browser(role).get(world.address(end), headers=HTML, params={"id": "a", "since": "0"}).text
                  for end in ["", *ends])
        for role in ("owner", "voter")
    )  # fmt: skip
    for word in ("secret-bert", "careless"):
        assert word in shown and word not in seen, word


def test_errors_are_pages_for_browsers_and_problems_for_programs(world):
    page = world.browser("nobody").get(world.address("/items"), headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert world.browser("nobody").get(world.address("/items")).headers["content-type"] == "application/problem+json"


def test_links_to_copy_name_the_host_and_scheme_that_browsers_use(world):
    app = create_app(world.store, ServiceConfig(trust_proxy=True))
    browser = TestClient(
        app, follow_redirects=False, headers=SAME | {"X-Forwarded-Proto": "https", "Host": "labels.example"}
    )
    with world.store.write() as connection:
        session_id = cookies.open_sign_in(connection, world.people["owner"], how="test", now=time.time())
    value = sign(signing_key(world.store, now=time.time()), session_id)
    browser.headers["Cookie"] = f"__Host-{cookies.NAME}={value}"
    assert 'value="https://labels.example/link/' in browser.post("/sign-in-link").text
    invited = browser.post(world.address("/people/invite"), data={"name": "x"})
    link = re.search(r'value="(https://labels.example/join/[^"]+)"', invited.text)[1]
    assert str(qr_code(link, "QR code of the invitation link")) in invited.text
    assert browser.post("/sign-in-link", headers={"Host": "a/b"}).status_code == 422


def test_signing_out_everywhere_ends_every_sign_in_of_oneself(world):
    here, there, other = world.browser("reader"), world.browser("reader"), world.browser("voter")
    link = credentials.sign_in_link(world.store, world.people["reader"], "", now=time.time())
    assert "Sign out everywhere" in here.get("/").text
    answer = here.post("/sign-out-everywhere")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?note=left-everywhere")
    assert 'quorate=""' in answer.headers["set-cookie"]
    assert [browser.get(world.address("/data")).status_code for browser in (here, there)] == [401, 401]
    assert other.get(world.address("/vote")).status_code == 200
    assert here.post(link).status_code == 410


def test_opening_a_link_does_not_use_it_and_its_form_does_once(world):
    link = credentials.sign_in_link(world.store, world.people["owner"], "", now=time.time())
    browser = world.browser("nobody")
    assert [browser.get(link).status_code for _ in range(3)] == [200] * 3
    assert [browser.post(link).status_code for _ in range(2)] == [303, 410]


def test_a_signed_in_account_joins_as_itself(world):
    _, join = invitations.create_invitation(world.store, world.project, "", role="reader", name="x", now=time.time())
    newcomer = accounts.create_account(world.store, "newcomer", now=time.time()).id
    world.people["newcomer"] = newcomer
    browser = world.browser("newcomer")
    assert "Join as newcomer" in browser.get(join).text
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert browser.post(join, data={"as_me": "yes"}, headers=elsewhere).status_code == 403
    assert browser.post(join, data={"as_me": "yes"}).status_code == 303
    roles = {each.account_id: each.role for each in accounts.list_members(world.store, world.project)}
    assert roles[newcomer] == "reader"


def members(world):
    return {each.account_id: each.name for each in accounts.list_members(world.store, world.project)}


def test_joining_again_in_the_same_browser_is_the_same_person(world):
    _, join = invitations.create_invitation(world.store, world.project, "", role="voter", name="y", now=time.time())
    browser = world.browser("nobody")
    assert browser.post(join, data={"name": "Twice"}).status_code == 303
    (mine,) = [each for each, name in members(world).items() if name == "Twice"]
    assert browser.post("/sign-out").status_code == 303
    assert browser.get(world.address("/vote")).status_code == 401  # remembered, not signed in
    assert f'value="{mine}"' in browser.get(join).text
    before = members(world)
    assert browser.post(join, data={"name": "twice"}).status_code == 303
    assert browser.get("/api/v1/me").json()["account_id"] == mine
    assert members(world) == before
    browser.post("/sign-out")
    assert browser.post(join, data={"account": mine}).status_code == 303
    assert world.browser("nobody").post(join, data={"account": mine}).status_code == 403  # another browser
    browser.post("/sign-out")
    assert browser.post(join, data={"name": "Twice", "other": "yes"}).status_code == 303
    page = world.browser("owner").get(world.address("/people")).text
    assert page.count("data-same-name") == page.count("data-same-browser") == 2


def test_removed_members_cannot_return_even_as_a_new_account(world):
    _, join = invitations.create_invitation(world.store, world.project, "", role="voter", name="z", now=time.time())
    browser = world.browser("nobody")
    browser.post(join, data={"name": "Gone"})
    (mine,) = [each for each, name in members(world).items() if name == "Gone"]
    accounts.remove_member(world.store, world.project, mine, now=time.time())
    assert browser.post(join, data={"name": "New", "other": "yes"}).status_code == 403  # still signed in
    browser.post("/sign-out")
    for form in ({"account": mine}, {"name": "Gone"}, {"name": "New", "other": "yes"}):
        assert browser.post(join, data=form).status_code == 403
    assert not {"Gone", "New"} & set(members(world).values())


def test_an_owners_browser_signs_nobody_in_by_an_invitation(world):
    _, join = invitations.create_invitation(world.store, world.project, "", role="voter", name="o", now=time.time())
    browser = world.browser("owner")
    browser.post("/sign-out")
    assert browser.post(join, data={"account": world.people["owner"]}).status_code == 403


def test_head_is_answered_wherever_get_is(world):
    for path in ("/", *(world.address(page) for page in PAGES)):
        browser = world.browser("owner")
        assert browser.head(path).status_code == browser.get(path).status_code


def test_the_last_owner_sees_why_they_cannot_leave(world):
    browser = world.browser("owner")
    data = {"account": world.people["owner"], "role": "voter"}
    answer = browser.post(world.address("/people/role"), data=data)
    assert answer.status_code == 403
    assert "only owner" in answer.text


def test_every_member_is_listed_and_can_get_another_role_however_many_there_are(world):
    now, ids = time.time(), []
    with world.store.write() as connection:
        for number in range(501):
            ids.append(accounts.insert_account(connection, f"member {number}", now=now).id)
            accounts.enrol(connection, world.project, ids[-1], role="voter", now=now)
    browser = world.browser("owner")
    page = browser.get(world.address("/people")).text
    assert all(f'name="account" value="{account}"' in page for account in ids)
    first, last = min(ids), max(ids)
    for account, status in [(first, 303), (last, 303), (world.people["stranger"], 404), ("nobody", 404)]:
        data = {"account": account, "role": "reader"}
        assert browser.post(world.address("/people/role"), data=data).status_code == status
    roles = {each.account_id: each.role for each in accounts.list_members(world.store, world.project)}
    assert {account for account in ids if roles[account] == "reader"} == {first, last}
    assert world.people["stranger"] not in roles


def test_wrong_settings_come_back_with_what_was_typed(world):
    browser = world.browser("owner")
    data = {"name": "kept", "pool_size": "0"}
    answer = browser.post(world.address("/settings"), data=data)
    assert answer.status_code == 422
    assert "pool_size" in answer.text
    assert 'value="kept"' in answer.text


def test_an_import_without_scripts_is_previewed_and_stored_once(world):
    browser = world.browser("owner")
    file = {"file": ("more.csv", b"id,text,gold\na,Hello,\nnew,Hello,dog\n,none,\n")}
    looked = browser.post(world.address("/import"), files=file).text
    assert "<strong>1</strong> can be stored" in looked
    assert re.findall(r">(\w+) <span class=\"badge audit\">already in the project", looked) == ["a"]
    for _ in range(2):
        assert browser.post(world.address("/import"), data={"action": "store"}, files=file).status_code == 200
    api = f"/api/v1/projects/{world.project}"
    assert browser.get(f"{api}/item", params={"id": "new"}).json()["gold"] == "dog"
    assert len(browser.get(f"{api}/items", params={"search": "new"}).json()["items"]) == 1


def test_static_files_are_kept_by_browsers_and_nothing_else_is_served(world):
    browser = world.browser("nobody")
    address = re.search(r'href="(/static/[^"]+)"', browser.get("/").text)[1]
    answer = browser.get(address)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert browser.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    for other in ("..%2Frendering.py", "../rendering.py", "nothing.js", ""):
        assert browser.get(f"/static/{other}").status_code == 404


@pytest.mark.parametrize("role", ["nobody", "owner"])
def test_unknown_addresses_give_pages_to_browsers_and_json_to_programs(world, role):
    browser = world.browser(role)
    page = browser.get("/nowhere", headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    for address, headers in (("/nowhere", {"Accept": "application/json"}), ("/api/v1/nowhere", HTML), ("/api", HTML)):
        assert browser.get(address, headers=headers).headers["content-type"] == "application/problem+json"


def test_valid_invitations_never_use_up_the_limit_and_wrong_ones_do(world):
    """Many people behind one address: more sign in than failed attempts are allowed."""
    browser = world.browser("nobody")
    _, link = invitations.create_invitation(world.store, world.project, "", role="voter", name="all", now=time.time())
    for number in range(int(ENTRY.burst) + 5):
        browser.cookies.clear()
        joined = browser.post(link, data={"name": f"nurse {number}"}, follow_redirects=False)
        assert joined.status_code == 303, number
    browser.cookies.clear()
    codes = [browser.post("/join/wrong", data={"name": "x"}).status_code for _ in range(int(ENTRY.burst) + 2)]
    assert codes[0] == 404
    assert codes[-1] == 429
