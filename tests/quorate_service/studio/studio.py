"""A real Label Studio on this machine: started from a template that `make label-studio` makes, killed, started again.

`python -m tests.quorate_service.studio.studio FOLDER` makes the template in FOLDER, where `venv` has label-studio:
tables, an owner, and three annotators who joined by the invitation, as people do.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.processes import free_port

FOLDER = Path(os.environ.get("QUORATE_LABEL_STUDIO", Path(__file__).parents[3] / ".label-studio"))
OWNER, PASSWORD = "owner@example.org", "a-long-password-1"
PEOPLE = ("ada@example.org", "ben@example.org", "cem@example.org")
UP_WITHIN = 240.0
QUIET = {  # nothing is sent to anybody, and webhooks may go to this machine
    "COLLECT_ANALYTICS": "False", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "SSRF_PROTECTION_ENABLED": "False",
    "LATEST_VERSION_CHECK": "False", "DEBUG": "False",
    # a killed server can leave a task locked for somebody who has answered it: by default for a day
    "TASK_LOCK_TTL": "20",
}  # fmt: skip


def missing() -> str | None:
    """What is missing to run one; None if nothing is."""
    if not (FOLDER / "template" / "tokens.json").exists():
        return f"no Label Studio in {FOLDER}: run `make label-studio` (1 GB, some minutes)"
    return None


@dataclass
class Studio:
    """One server on its own data."""

    data: Path
    port: int
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [
            str(FOLDER / "venv" / "bin" / "label-studio"), "start", "-b", "--internal-host", "127.0.0.1",
            "-p", str(self.port), "--data-dir", str(self.data), "--username", OWNER, "--password", PASSWORD,
            "--user-token", owner_token(), "--enable-legacy-api-token",
        ]  # fmt: skip
        with (self.data / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **QUIET, "PYTHONPATH": ""}, cwd=self.data,
                start_new_session=True,
            )  # fmt: skip
        self.wait()

    def wait(self) -> None:
        until = time.monotonic() + UP_WITHIN
        while time.monotonic() < until and self.process.poll() is None:
            if self.is_up():
                return
            time.sleep(0.3)
        raise RuntimeError((self.data / "server.log").read_text()[-3000:])

    def is_up(self) -> bool:
        """Whether it was started and answers."""
        if self.process is None:
            return False
        try:
            return httpx.get(f"{self.url}/health", timeout=5.0, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """As a machine that loses power."""
        if self.process is not None:
            os.killpg(self.process.pid, how)
            self.process.wait(30)
            self.process = None

    def client(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Token {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60.0, trust_env=False)


def owner_token() -> str:
    return "0123456789abcdef0123456789abcdef01234567"


def personal_token(studio: Studio) -> str:
    """A personal access token of the owner, as *Account & Settings* gives one."""
    with studio.client(owner_token()) as client:
        return str(client.post("/api/token/", json={}).raise_for_status().json()["token"])


def tokens() -> dict[str, str]:
    """Of each annotator, by e-mail address."""
    return json.loads((FOLDER / "template" / "tokens.json").read_text())


def copy_of_template(folder: Path) -> Studio:
    shutil.copytree(FOLDER / "template", folder)
    return Studio(folder, free_port())


def sign_up(studio: Studio, email: str) -> str:
    """Join by the invitation; the new user's token."""
    with studio.client(owner_token()) as client:
        invitation = client.get("/api/invite").json()["token"]
    with httpx.Client(base_url=studio.url, timeout=60.0, follow_redirects=True, trust_env=False) as browser:
        page = browser.get("/user/signup/", params={"token": invitation}).text
        csrf = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
        form = {"csrfmiddlewaretoken": csrf, "email": email, "password": PASSWORD, "allow_newsletters": "false"}
        browser.post("/user/signup/", params={"token": invitation}, data=form, headers={"Referer": studio.url})
        return browser.get("/api/current-user/token").json()["token"]


def make_template(folder: Path) -> None:
    """Create the tables and the people, once."""
    made, final = folder / "template.part", folder / "template"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    studio = Studio(made, free_port())
    try:
        studio.start()
        found = {email: sign_up(studio, email) for email in PEOPLE}
    finally:
        studio.kill(signal.SIGTERM)
    (made / "tokens.json").write_text(json.dumps(found))
    shutil.rmtree(final, ignore_errors=True)
    made.rename(final)


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1]).absolute()
    make_template(FOLDER)
