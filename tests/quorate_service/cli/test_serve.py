"""`quorate serve`: the database made ready, one link for the first owner, nothing started that cannot run."""

import re
import shutil
import socket
import stat
import subprocess
import sys

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from quorate_service.cli import serve
from tests.missing import missing
from tests.processes import free_port
from tests.quorate_service.cli.serving import Serving

PG = "postgresql://quorate@localhost/quorate"


def test_the_first_start_makes_a_private_database_and_prints_a_link_that_opens(tmp_path):
    with Serving("--database", "votes.db", folder=tmp_path) as service:
        (link,) = service.links
        assert link.startswith(service.url + "/link/")
        assert service.status(link.removeprefix(service.url)) == 200
        assert service.status("/link/" + "x" * 43) == 404
        assert stat.S_IMODE((tmp_path / "votes.db").stat().st_mode) == 0o600
        assert "Database created" in service.printed
    assert "Traceback" not in service.printed
    assert service.process.returncode in (0, -2, 130)


def test_a_start_after_somebody_came_in_prints_no_link(tmp_path):
    from quorate_service.access.accounts import create_account
    from quorate_service.store import Store
    from quorate_service.store.prepare import prepare

    store = Store(str(tmp_path / "votes.db"))
    prepare(store)
    create_account(store, "Ada", may_create=True, now=0.0)
    store.close()
    address = "http://labels.example.org"
    with Serving("--database", "votes.db", "--base-url", address, folder=tmp_path, forked=True) as service:
        assert service.links == []
        assert "Database" not in service.printed
        assert "Serving at http://labels.example.org" in service.printed


def test_the_first_owner_can_come_in_without_a_browser(run, tmp_path):
    if shutil.which("curl") is None:
        missing("curl", "apt-get install curl")
    with Serving("--database", "votes.db", folder=tmp_path, forked=True) as service:
        made = run("service", "owner-key", "script", "--database", tmp_path / "votes.db")
        (command,) = re.findall(r"curl --data 'name=Ada' LINK", made.stderr)
        subprocess.run(["bash", "-c", f"{command.replace('LINK', service.links[0])} --fail --silent"], check=True)
        made = run("service", "owner-key", "script", "--database", tmp_path / "votes.db")
    assert made.exit_code == 0
    assert made.stdout.startswith("qk_")
    link = run("service", "owner-link", "--database", tmp_path / "votes.db", "--json").stdout
    assert f'"{service.url}/link/' in link, "where the service listens"


def test_a_taken_port_is_named_before_anything_is_touched(run, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", "--database", tmp_path / "votes.db", "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "choose another" in result.stderr
    assert not (tmp_path / "votes.db").exists()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--database", "mysql://somewhere/x", "SQLite (a file) or PostgreSQL"),
        ("--database", ":memory:", "would lose every vote"),
        ("--base-url", "labels.example.org", "where browsers find the service"),
        ("--base-url", "https://example.org/labels", "its own host name"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(run, option, value, words):
    result = run("serve", "--port", free_port(), option, value)
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["serve"], ["service", "backup", "x"], ["service", "check"]])
def test_without_the_extra_one_line_says_what_to_install(command):
    without = f"import sys; sys.modules['sqlalchemy'] = None; sys.argv[1:] = {command}"
    code = f"{without}; from quorate.commands.main import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.strip().endswith("pip install 'quorate[service]' (with PostgreSQL: 'quorate[postgres]')")
    assert result.stderr.count("\n") == 1


def test_the_demo_starts_in_a_file_of_its_own_and_never_in_a_database_in_use(run, tmp_path):
    from quorate_service.domain.projects import Projects
    from quorate_service.domain.settings import ProjectSettings
    from quorate_service.store import Store
    from quorate_service.store.prepare import prepare

    with Serving("--demo", folder=tmp_path, forked=True) as service:
        assert service.status(service.links[0].removeprefix(service.url)) == 200
    assert (tmp_path / "quorate-demo.db").exists()
    assert not (tmp_path / "quorate.db").exists()
    store = Store(str(tmp_path / "mine.db"))
    prepare(store)
    Projects(store).create("Mine", ProjectSettings(classes=["a", "b"], pool_size=3), now=0.0)
    store.close()
    refused = run("serve", "--demo", "--database", tmp_path / "mine.db", "--port", free_port())
    assert refused.exit_code == 1
    assert "holds your projects" in refused.stderr


def test_a_secret_that_is_too_short_is_one_line_before_anything_is_served(run, tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_SECRET", "short")
    result = run("serve", "--database", tmp_path / "votes.db", "--port", free_port())
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert all(words in last for words in ("QUORATE_SECRET", "5 characters", "at least 32"))


def test_a_database_server_that_does_not_answer_is_waited_for_and_not_for_ever(monkeypatch, capsys):
    from quorate_service.store import Store, StoreUnavailable

    monkeypatch.setattr(serve, "DATABASE_WITHIN", 0.2)
    monkeypatch.setattr(serve, "DATABASE_EVERY", 0.05)
    store = Store("postgresql://quorate@127.0.0.1:1/quorate")
    with pytest.raises(StoreUnavailable):
        serve._prepared(store)
    assert len(capsys.readouterr().err.splitlines()) == 1
    store.close()
