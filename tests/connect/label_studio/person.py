"""A person at the pages of Label Studio and of quorate: what the guide says to click, clicked in a real browser."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from tests.processes import wait_until

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000  # milliseconds for one page, on a busy machine


def browser_here() -> str | None:
    """The Chromium of this system; None without one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """The Chromium of this system, which sends nothing to anybody."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=browser_here(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        try:
            yield opened
        finally:
            opened.close()


class Person:
    """One person with a browser of their own, at one Label Studio."""

    def __init__(self, chromium: Browser, url: str) -> None:
        size, may = {"width": 1280, "height": 700}, ["clipboard-read", "clipboard-write"]
        self.page: Page = chromium.new_context(viewport=size, permissions=may).new_page()
        self.page.set_default_timeout(PATIENCE)
        self.url = url

    def sign_in(self, email: str, password: str) -> None:
        self.page.goto(self.url)
        self._fill_in(email, password)

    def sign_up(self, invitation: str, email: str, password: str) -> None:
        """Open the link of an invitation and create an account."""
        self.page.goto(invitation)
        self._fill_in(email, password)

    def _fill_in(self, email: str, password: str) -> None:
        self.page.fill("#email", email)
        self.page.fill("#password", password)
        self.page.click("button[type=submit]")
        self.page.wait_for_url(lambda url: "/user/" not in url, wait_until="commit")

    # -- set-up ---------------------------------------------------------------------------------------------------

    def create_project(self, name: str, file: str, config: str) -> int:
        """Create Project, all three tabs, Save; the number of the project, as its address shows it."""
        self.fill_in_project(name, file, config)
        return self.save_project()

    def save_project(self) -> int:
        self.page.get_by_role("button", name="Save", exact=True).click()
        self.page.wait_for_url("**/projects/*/data*", wait_until="commit")
        return int(re.search(r"/projects/(\d+)/", self.page.url)[1])

    def fill_in_project(self, name: str, file: str, config: str) -> None:
        page = self.page
        page.goto(self.url)
        with page.expect_response(lambda each: each.request.method == "POST" and "/api/projects" in each.url):
            page.get_by_role("button", name="Create Project").first.click()  # a draft; nobody types before it is there
        page.fill("input[name=name]", name)
        page.get_by_text("Data Import", exact=True).click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Upload").first.click()
        chooser.value.set_files(file)
        page.get_by_text("List of tasks", exact=True).click()
        page.get_by_text("Labeling Setup", exact=True).click()
        page.get_by_text("Custom template", exact=True).click()
        page.locator(".CodeMirror, .cm-editor").first.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(config)
        page.locator("label.lsf-choice__checkbox").first.wait_for()  # the preview shows the choices

    def create_token(self) -> str:
        """Initials, Account & Settings, Personal Access Token, Create New Token, Copy; what was copied."""
        page = self.page
        page.get_by_test_id("userpic").first.click()
        page.get_by_text("Account & Settings", exact=True).click()
        page.get_by_role("link", name="Personal Access Token").click()
        page.get_by_role("button", name="Create New Token").click()
        return self._copied("Copy")

    def invite(self) -> str:
        """Home, Invite Members, Copy link; what was copied."""
        self.page.goto(self.url)
        self.page.get_by_role("button", name="Invite Members").click()
        return self._copied("Copy link")

    def _copied(self, button: str) -> str:
        """Click until something is in the clipboard: the button is there before its text is."""
        found = ""

        def has_text() -> bool:
            nonlocal found
            self.page.get_by_role("button").get_by_text(button, exact=True).click()
            found = str(self.page.evaluate("navigator.clipboard.readText()"))
            return found != ""

        self.page.evaluate("navigator.clipboard.writeText('')")
        wait_until(has_text, f"{button!r} copies a text")
        return found

    # -- work -----------------------------------------------------------------------------------------------------

    def open_project(self, name: str) -> None:
        """From the first page, by its name."""
        self.page.goto(self.url)
        self.page.get_by_text(name, exact=True).first.click()
        self.page.wait_for_url("**/projects/*/data*", wait_until="commit")

    def start_labelling(self) -> None:
        self.page.get_by_role("button", name="Label All Tasks").click()
        self.page.locator("label.lsf-choice__checkbox").first.wait_for()

    def answer(self, label: str) -> None:
        """Choose and submit, then see the next task or that there is none."""
        page = self.page
        page.locator("label.lsf-choice__checkbox", has_text=label).click()
        with page.expect_response(lambda each: each.request.method == "POST" and "/annotations" in each.url) as sent:
            page.locator("button[name=submit]").click()
        assert sent.value.ok, sent.value.status
        page.locator("label.lsf-choice__checkbox.ant-checkbox-wrapper-checked").wait_for(state="detached")

    def sees_column(self, column: str, text: str) -> bool:
        """Whether the Data Manager, opened again, shows a column of this name and a cell with this text."""
        page = self.page
        page.reload()
        page.get_by_role("button", name="Label All Tasks").wait_for()
        return page.get_by_text(column, exact=True).count() > 0 and page.get_by_text(text, exact=True).count() > 0

    def open_dashboard(self, link: str) -> None:
        """quorate's link to sign in, its button, then the project."""
        self.page.goto(link)
        self.page.click("main button")
        self.page.click("main a[href^='/p/']")
        self.page.wait_for_selector("[data-front-end]")
