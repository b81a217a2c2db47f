"""A person at the pages of Label Studio and of quorate: what the guide says to click, clicked in a real browser."""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.processes import wait_until
from tests.quorate_service.studio.guide import Label

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000  # milliseconds for one page, on a busy machine
NO_HEADING = ":not(h1, h2, h3, :is(h1, h2, h3) *)"


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
        self.found: set[Label] = set()  # of what the guide names

    def _labelled(self, label: Label) -> Locator:
        """What shows this label and nothing else, as a person finds it: no headings."""
        return self.page.get_by_text(label, exact=True).and_(self.page.locator(NO_HEADING)).filter(visible=True).first

    def _click(self, label: Label) -> None:
        self._labelled(label).click()
        self.found.add(label)

    def _open_home(self) -> None:
        """The address of Label Studio, which shows the page of this name."""
        self.page.goto(self.url)
        self._labelled(Label.HOME).wait_for()
        self.found.add(Label.HOME)

    def sign_in(self, email: str, password: str) -> None:
        self.page.goto(self.url)
        self._fill_in(email, password, Label.LOG_IN)

    def sign_up(self, invitation: str, email: str, password: str) -> None:
        """Open the link of an invitation and create an account."""
        self.page.goto(invitation)
        self._fill_in(email, password, Label.CREATE_ACCOUNT)

    def _fill_in(self, email: str, password: str, button: Label) -> None:
        self.page.fill("#email", email)
        self.page.fill("#password", password)
        self._click(button)
        self.page.wait_for_url(lambda url: "/user/" not in url, wait_until="commit")

    # -- set-up ---------------------------------------------------------------------------------------------------

    def create_project(self, name: str, file: str, config: str) -> int:
        """Create Project, all three tabs, Save; the number of the project, as its address shows it."""
        self.fill_in_project(name, file, config)
        return self.save_project()

    def save_project(self) -> int:
        self._click(Label.SAVE)
        self.page.wait_for_url("**/projects/*/data*", wait_until="commit")
        return int(re.search(r"/projects/(\d+)/", self.page.url)[1])

    def fill_in_project(self, name: str, file: str, config: str) -> None:
        page = self.page
        self._open_home()
        with page.expect_response(lambda each: each.request.method == "POST" and "/api/projects" in each.url):
            self._click(Label.CREATE_PROJECT)  # a draft; nobody types before it is there
        self._click(Label.PROJECT_NAME)
        page.fill("input[name=name]", name)
        self._click(Label.DATA_IMPORT)
        with page.expect_file_chooser() as chooser:
            self._click(Label.UPLOAD)
        chooser.value.set_files(file)
        self._click(Label.TASKS)
        self._click(Label.SETUP)
        self._click(Label.CUSTOM)
        page.locator(".CodeMirror, .cm-editor").first.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(config)
        page.locator("label.lsf-choice__checkbox").first.wait_for()  # the preview shows the choices

    def create_token(self) -> str:
        """From the initials to what was copied."""
        self.page.get_by_test_id("userpic").first.click()
        self._click(Label.ACCOUNT)
        self._click(Label.TOKENS)
        self._click(Label.NEW_TOKEN)
        return self._copied(Label.COPY)

    def invite(self) -> str:
        """From the first page to what was copied."""
        self._open_home()
        self._click(Label.INVITE)
        return self._copied(Label.COPY_LINK)

    def _copied(self, button: Label) -> str:
        """Click until something is in the clipboard: the button is there before its text is."""
        found = ""

        def has_text() -> bool:
            nonlocal found
            self._click(button)
            found = str(self.page.evaluate("navigator.clipboard.readText()"))
            return found != ""

        self.page.evaluate("navigator.clipboard.writeText('')")
        wait_until(has_text, f"*{button}* copies a text")
        return found

    # -- work -----------------------------------------------------------------------------------------------------

    def open_project(self, name: str) -> None:
        """From the first page, by its name."""
        self._open_home()
        self.page.get_by_text(name, exact=True).first.click()
        self.page.wait_for_url("**/projects/*/data*", wait_until="commit")

    def start_labelling(self) -> None:
        self._click(Label.LABEL_ALL)
        self.page.locator("label.lsf-choice__checkbox").first.wait_for()

    def answer(self, label: str) -> None:
        """Choose and submit, then see the next task or that there is none."""
        page = self.page
        page.locator("label.lsf-choice__checkbox", has_text=label).click()
        with page.expect_response(lambda each: each.request.method == "POST" and "/annotations" in each.url) as sent:
            self._click(Label.SUBMIT)
        assert sent.value.ok, sent.value.status
        page.locator("label.lsf-choice__checkbox.ant-checkbox-wrapper-checked").wait_for(state="detached")

    def sees(self, columns: Iterable[str], text: str) -> bool:
        """Whether the Data Manager, opened again, has all these columns and a cell with this text."""
        self.page.reload()
        self._labelled(Label.LABEL_ALL).wait_for()
        return all(self.page.get_by_text(each, exact=True).count() > 0 for each in (*columns, text))

    def open_dashboard(self, link: str, name: str) -> None:
        """quorate's link to sign in, its button, then the project."""
        self.page.goto(link)
        self._click(Label.SIGN_IN)
        self.page.get_by_role("main").get_by_text(name, exact=True).first.click()
        self.page.wait_for_selector("[data-front-end]")
