"""The how-to guide, followed by a new user: `pip install` to the first closed task, by hand, within ten minutes.

`pytest -m slow -s tests/quorate_service/studio/test_guide.py` prints the seconds of each step. It needs
`make label-studio`, Chromium and the package index. Label Studio's own installation and start are not counted.
"""

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quorate_service.label_studio.tasks import single_choice
from tests.missing import missing
from tests.processes import free_port, wait_until
from tests.quorate_service.studio import guide
from tests.quorate_service.studio.studio import OWNER, PASSWORD, Studio, owner_token

ROOT = Path(__file__).parents[3]
PACKAGE = ("src", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
TEN_MINUTES = 600.0
SECOND = "dora@example.org"
CTRL_C_WITHIN = 60.0
NOT_CLICKED = {"Revoke", "annotations per task", "Data Manager", "Filters"}  # named for other reasons than the steps


class Clock:
    """Seconds since `pip install` began, and what each step took of them."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.lines: list[str] = []

    def step(self, name: str) -> None:
        now = time.monotonic()
        self.lines.append(f"{now - self.last:7.1f} s  {name}")
        self.last = now
        assert now - self.start <= TEN_MINUTES, "\n".join(["more than ten minutes:", *self.lines])

    def report(self, processor: float) -> str:
        whole = (
            f"{self.last - self.start:7.1f} s  in all; pip, quorate and browser: {processor:.0f} s of processor time"
        )
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        return "\n".join([*self.lines, whole, f"load of {os.cpu_count()} processors: {load}"])


class Terminal:
    """A terminal of somebody who has nothing of ours installed."""

    def __init__(self, folder: Path) -> None:
        ours = ("QUORATE", "LABEL_STUDIO", "PYTHON")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # `python3` is this Python
        self.folder, self.environment = folder, {**kept, "PATH": path}
        self.log = folder / "terminal.log"

    def run(self, *lines: str) -> None:
        process = self.leave_running(*lines)
        try:
            assert process.wait() == 0, self.log.read_text()[-4000:]
        finally:
            kill(process)

    def leave_running(self, *lines: str) -> subprocess.Popen:
        script = "\n".join(["set -e", *lines])
        with self.log.open("wb") as log:
            return subprocess.Popen(
                ["bash", "-c", script], cwd=self.folder, env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def line_with(self, text: str) -> str | None:
        return next((line.strip() for line in self.log.read_text().splitlines() if text in line), None)


def press_ctrl_c(process: subprocess.Popen, within: float = CTRL_C_WITHIN) -> None:
    """End a command as its user does. One that does not end is killed, and fails the test."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(within)
    finally:
        kill(process)


def kill(process: subprocess.Popen) -> None:
    """Also what it started; nothing if it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def checkout(folder: Path) -> Path:
    """A copy of what the package is built from: building leaves files behind."""
    folder.mkdir()
    for name in PACKAGE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def closed_tasks(studio: Studio, project: int) -> list[dict]:
    """Of Label Studio itself: those nobody gets any more, with a consensus."""
    with studio.client(owner_token()) as client:
        told = client.get("/api/tasks", params={"project": project, "fields": "all"}).raise_for_status().json()["tasks"]
    return [task for task in told if task["is_labeled"] and "quorate_consensus" in task["data"]]


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_what_the_guide_says_to_type_fits_together():
    told = guide.read()
    asked = single_choice(told.config)
    assert told.tasks.splitlines()[0] == asked.source and len(told.tasks.splitlines()) > 2
    assert f"'{told.name}': {', '.join(asked.classes)};" in told.printed
    assert told.activate in told.install
    assert "--project 7" in told.typed(token="t", url="http://x", project=7, port=1)


def test_the_guide_names_what_the_browser_clicks_in_this_order():
    told = guide.read()
    first_named = [each for each in dict.fromkeys(told.emphasised) if each not in NOT_CLICKED | {told.name}]
    assert first_named == list(guide.Label)


def test_labels_are_read_as_markdown_has_them():
    text = "**Save.** Click *Save\n as* in `*code*`, *Home*:\n\n    ```console\n    $ ls *.a *.b\n    ```\n\n*End*"
    assert guide.emphasised(text) == ("Save as", "Home", "End")


def test_a_command_that_ignores_ctrl_c_is_killed(tmp_path):
    terminal = Terminal(tmp_path)
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    process = terminal.leave_running(f"exec python3 -c {shlex.quote(code)}")
    try:
        wait_until(lambda: terminal.line_with("up"), "it ignores Ctrl-C")
        with pytest.raises(subprocess.TimeoutExpired):
            press_ctrl_c(process, within=0.2)
        assert process.poll() == -signal.SIGKILL
    finally:
        kill(process)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_new_user_closes_a_first_task_within_ten_minutes(studio, tmp_path, capsys):
    people = pytest.importorskip("tests.quorate_service.studio.person", reason="playwright is not installed")
    if people.browser_here() is None:
        missing("Chromium", "apt-get install chromium")
    told, terminal = guide.read(), Terminal(checkout(tmp_path / "checkout"))
    answer, *_ = single_choice(told.config).classes
    tasks = tmp_path / told.file
    tasks.write_text(told.tasks + "\n")
    before, clock, process = processor_seconds(), Clock(), None
    terminal.run(*told.install)
    clock.step("install")
    try:
        with people.browser() as chromium:
            owner, second = (people.Person(chromium, studio.url) for _ in range(2))
            owner.sign_in(OWNER, PASSWORD)
            project = owner.create_project(told.name, str(tasks), told.config)
            clock.step("sign in, create the project")
            token = owner.create_token()
            clock.step("create the token")
            typed = told.typed(token=token, url=studio.url, project=project, port=free_port())
            process = terminal.leave_running(told.activate, typed)
            wait_until(
                lambda: process.poll() is not None or terminal.line_with("/link/"), "it is connected", TEN_MINUTES
            )
            assert process.poll() is None, terminal.log.read_text()
            clock.step("connect")
            owner.open_dashboard(terminal.line_with("/link/"), told.name)
            owner.page.wait_for_selector("[data-front-end=read]")
            clock.step("all tasks are read, as the dashboard shows")
            second.sign_up(owner.invite(), SECOND, PASSWORD)
            clock.step("invite a second annotator")
            for person in (owner, second):
                person.open_project(told.name)
                person.start_labelling()
                person.answer(answer)
            wait_until(lambda: closed_tasks(studio, project), "the first task is closed", TEN_MINUTES)
            clock.step("label, until the first task is closed")
            owner.open_project(told.name)
            wait_until(lambda: owner.sees(told.columns, answer), "the consensus is shown", TEN_MINUTES)
            clock.step("see its consensus in the Data Manager")
    finally:
        if process is not None:
            press_ctrl_c(process)
    assert owner.found | second.found == set(guide.Label)
    [closed] = closed_tasks(studio, project)
    assert closed["data"]["quorate_consensus"] == answer
    assert closed["data"]["quorate_votes"] == len(closed["annotations"]) == 2
    with capsys.disabled():
        print("\n" + clock.report(processor_seconds() - before))
