"""`quorate service`: backup, copy, owners, accounts and check, as typed."""

import json
import sqlite3

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from quorate_service.access.accounts import create_account, disable_account
from quorate_service.access.credentials import list_keys, look_at_link, remember_address
from quorate_service.domain.ballots import act
from quorate_service.domain.items import NewItem, add_items
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.votes import Request
from quorate_service.store import Store
from quorate_service.store.prepare import prepare


@pytest.fixture
def database(tmp_path):
    """A database with a project, three items and a vote on the first."""
    path = tmp_path / "votes.db"
    store = Store(str(path))
    prepare(store)
    projects = Projects(store)
    project = projects.create("Pets", ProjectSettings(classes=["cat", "dog"], pool_size=5), now=1.0)
    add_items(projects, project.id, [NewItem(f"photo{number}", [0.6, 0.4]) for number in range(3)], now=2.0)
    act(projects, Request(project.id, "photo0", "ada", "vote", label="cat", served=False), now=3.0)
    store.close()
    return path


def test_a_backup_and_a_copy_have_the_same_decisions(run, database, tmp_path):
    result = run("service", "backup", tmp_path / "monday.db", "--database", database)
    assert result.exit_code == 0, result.stderr
    assert run("service", "check", "--database", tmp_path / "monday.db").exit_code == 0
    copied = run("service", "copy", tmp_path / "new.db", "--database", tmp_path / "monday.db", "--json")
    assert json.loads(copied.stdout)["rows"] > 5
    assert (tmp_path / "new.db").stat().st_mode & 0o077 == 0
    checked = json.loads(run("service", "check", "--database", tmp_path / "new.db", "--json").stdout)
    assert (checked["items"], checked["events"], checked["disagreements"]) == (3, 5, 0)


def test_a_backup_onto_a_file_says_so_in_the_command_s_words(run, database, tmp_path):
    (tmp_path / "one.backup").write_text("mine")
    result = run("service", "backup", tmp_path / "one.backup", "--database", database)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"quorate: FILE {tmp_path / 'one.backup'}; expected a new file")


def test_check_counts_and_finds_what_was_tampered_with(run, database):
    result = run("service", "check", "--database", database)
    assert result.exit_code == 0, result.stderr
    assert "1 project, 3 items, 5 events (1 vote" in result.stdout and ": 0 decisions differ" in result.stdout
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE items SET label = 'dog' WHERE name = 'photo1'")
    connection.close()
    result = run("service", "check", "--database", database, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["disagreements"] == 1
    assert found["first"][0]["item"] == "photo1"


def test_a_misspelt_database_is_not_created(run, tmp_path):
    with_file = (["backup", tmp_path / "x"], ["copy", tmp_path / "y"], ["disable", "a"])
    for command in (*with_file, ["owner-link"], ["check"], ["accounts"]):
        result = run("service", *command, "--database", tmp_path / "typo.db")
        assert result.exit_code == 1
        assert "no such file" in result.stderr
    assert not (tmp_path / "typo.db").exists()


def test_an_owner_who_lost_the_cookie_gets_a_link(run, database):
    store = Store(str(database))
    first = run("service", "owner-link", "--database", database, "--json")
    token = json.loads(first.stdout)["link"].rpartition("/")[2]
    assert look_at_link(store, token, now=0.0).account_id is None  # nobody yet: it makes the first owner
    assert "valid for 24 hours" in run("service", "owner-link", "--database", database).stdout
    nobody = run("service", "owner-link", "--account", "nobody", "--database", database)
    assert nobody.exit_code == 1 and "nobody; expected the id of an account" in nobody.stderr
    ada = create_account(store, "Ada", may_create=True, now=1.0)
    create_account(store, "Bob", now=1.0)
    link = json.loads(run("service", "owner-link", "--database", database, "--json").stdout)["link"]
    assert look_at_link(store, link.rpartition("/")[2], now=2.0).account_id == ada.id
    eve = create_account(store, "Eve", may_create=True, now=1.0)
    refused = run("service", "owner-link", "--database", database)
    assert refused.exit_code == 1
    assert f"{eve.id} (Eve)" in refused.stderr
    chosen = ["--account", eve.id, "--base-url", "https://labels.example.org"]
    told = run("service", "owner-link", "--database", database, *chosen).stdout
    assert "https://labels.example.org/link/" in told and "valid for 15 minutes" in told and "--base-url" not in told
    remember_address(store, "http://127.0.0.1:8091", now=1.0)
    told = run("service", "owner-link", "--database", database, "--account", eve.id).stdout
    assert "http://127.0.0.1:8091/link/" in told, "where the service listens"
    disable_account(store, eve.id, now=2.0)
    told = run("service", "owner-link", "--database", database)
    assert told.exit_code == 0 and "pass --base-url" in told.stdout
    store.close()


def test_an_owner_gets_a_key_and_only_its_hash_is_kept(run, database):
    refused = run("service", "owner-key", "script", "--database", database)
    assert refused.exit_code == 1
    assert "open the link" in refused.stderr and "curl --data 'name=Ada' LINK" in refused.stderr
    store = Store(str(database))
    ada = create_account(store, "Ada", may_create=True, now=1.0)
    key = run("service", "owner-key", "script", "--database", database).stdout.strip()
    (known,) = list_keys(store, ada.id)
    assert key.startswith(known.start)
    assert known.name == "script"
    store.close()
    assert key.encode() not in database.read_bytes()
    assert json.loads(run("service", "owner-key", "other", "--database", database, "--json").stdout)["key"] != key


def test_accounts_are_listed_kept_out_and_let_in_again(run, database):
    store = Store(str(database))
    ada, bob = (create_account(store, name, may_create=name == "Ada", now=1.0).id for name in ("Ada", "Bob"))
    ends = ["--database", database]
    assert run("service", "disable", bob, *ends).stdout == f"Bob ({bob}) is disabled.\n"
    lines = set(run("service", "accounts", *ends).stdout.splitlines())
    assert lines == {f"{ada}  Ada (may create projects)", f"{bob}  Bob (disabled)"}
    assert json.loads(run("service", "enable", bob, *ends, "--json").stdout)["disabled"] is None
    listed = json.loads(run("service", "accounts", *ends, "--json").stdout)["accounts"]
    assert {each["id"]: each["disabled"] for each in listed} == {ada: None, bob: None}
    store.close()
    unknown = run("service", "disable", "nobody", *ends)
    assert unknown.exit_code == 1
    assert "nobody; expected the id of an account" in unknown.stderr


def test_check_goes_through_every_page_of_items(run, database, monkeypatch):
    monkeypatch.setattr("quorate_service.domain.listing.BATCH", 2)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE items SET label = 'dog' WHERE name = 'photo2'")  # on the second page
    connection.close()
    found = json.loads(run("service", "check", "--database", database, "--json").stdout)
    assert (found["items"], [each["item"] for each in found["first"]]) == (3, ["photo2"])
