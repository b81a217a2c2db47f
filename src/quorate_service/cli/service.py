"""`quorate service ...`: commands for operators: back up, copy, check, manage accounts."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quorate.commands.main import Commands
from quorate.commands.options import Json, option
from quorate.commands.output import print_json, print_lines, progress_bar
from quorate.reports.format import counted
from quorate_service.access.accounts import Account, disable_account, enable_account, list_accounts
from quorate_service.access.credentials import address_of, new_key, new_link
from quorate_service.cli.serve import BaseUrl, Database
from quorate_service.domain.trail import Verification
from quorate_service.domain.trail import check as recompute
from quorate_service.store import existing
from quorate_service.store.backup import backup as write_backup
from quorate_service.store.backup import copy as copy_database
from quorate_service.store.prepare import prepare

HELP = """
Manage the database of `quorate serve`: backup, copy, check, links, keys and accounts (docs/service.md).
"""

app = typer.Typer(name="service", cls=Commands, help=HELP, no_args_is_help=True, rich_markup_mode="rich")

OfAccount = Annotated[str | None, option("Id of the account; default: the one that may create projects.", "--account")]
AccountId = Annotated[str, typer.Argument(help="Its id, as `quorate service accounts` lists it.")]
Quiet = Annotated[bool, option("No progress on stderr.", "--quiet")]


@app.command("backup")
def backup(
    file: Annotated[str, typer.Argument(help="The file to write; it must not exist.")],
    database: Database = "quorate.db",
    json: Json = False,
) -> None:
    """Write a consistent copy of a SQLite database to a new file; the service can keep running.

    To restore it, stop the service and put the file in the database's place. It holds secrets; only you can read it.
    For PostgreSQL use pg_dump.

    Example: quorate service backup monday.db --database quorate.db
    """
    write_backup(database, file)
    size = Path(file).stat().st_size
    if json:
        print_json({"file": file, "bytes": size})
    else:
        print_lines(f"Backed up to {file}: {size / 1e6:.1f} MB.")


@app.command("copy")
def copy(
    target: Annotated[str, typer.Argument(help="A new file, or an empty database: postgresql://user@host/name.")],
    database: Database = "quorate.db",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy every row to a new, empty database, from SQLite to PostgreSQL or back. Nothing or all of it is stored.

    Stop the service first: votes that arrive during the copy are not in it.

    Example: quorate service copy postgresql://quorate@localhost/quorate --database quorate.db
    """
    os.umask(0o077)
    with progress_bar(quiet=quiet) as report:
        num_rows = copy_database(database, target, progress=report)
    if json:
        print_json({"rows": num_rows})
    else:
        print_lines(f"Copied {num_rows} rows. Check them with: quorate service check --database ...")


@app.command("owner-link")
def owner_link(
    database: Database = "quorate.db",
    base_url: BaseUrl = None,
    account: OfAccount = None,
    json: Json = False,
) -> None:
    """Print a new link that signs an owner in: for a lost cookie, or another device. It works once, for 15 minutes.

    Example: quorate service owner-link --database quorate.db --base-url https://labels.example.org
    """
    with existing(database) as store:
        lasts = "15 minutes" if list_accounts(store) else "24 hours"
        here = base_url or address_of(store) or "http://127.0.0.1:8000"
        link = new_link(store, here, account=account, now=time.time())
    if json:
        print_json({"link": link})
    else:
        print_lines(f"Whoever opens this link is the owner; it works once, valid for {lasts}:", f"  {link}")
        if base_url is None:
            print_lines(f"(if the service is not at {here}, pass --base-url)")


@app.command("owner-key")
def owner_key(
    name: Annotated[str, typer.Argument(help="What the key is for, to recognise it by.")],
    database: Database = "quorate.db",
    account: OfAccount = None,
    json: Json = False,
) -> None:
    """Print a new API key of an owner, for scripts. It is shown once; only its hash is stored.

    The first owner must exist: open the link that `quorate serve` prints, or without a browser run
    `curl --data 'name=Ada' LINK`.

    Example: quorate service owner-key "nightly import" --database quorate.db
    """
    with existing(database) as store:
        key = new_key(store, name, account=account, now=time.time())
    print_json({"key": key}) if json else print(key)


@app.command("accounts")
def accounts(database: Database = "quorate.db", json: Json = False) -> None:
    """List all accounts: their ids, who may create projects, who is disabled.

    Example: quorate service accounts --database quorate.db
    """
    with existing(database) as store:
        found = list_accounts(store)
    if json:
        print_json({"accounts": [asdict(each) for each in found]})
    for each in [] if json else found:
        notes = ["may create projects"] * each.may_create + ["disabled"] * (each.disabled is not None)
        print_lines(f"{each.id}  {each.name}" + (f" ({', '.join(notes)})" if notes else ""))


@app.command("disable")
def disable(account: AccountId, database: Database = "quorate.db", json: Json = False) -> None:
    """Disable an account, effective immediately: its sign-ins end and its keys are refused. Its votes stay.

    Example: quorate service disable 0123456789abcdef01234567 --database quorate.db
    """
    with existing(database) as store:
        done = disable_account(store, account, now=time.time())
    _print_account(done, "is disabled", json=json)


@app.command("enable")
def enable(account: AccountId, database: Database = "quorate.db", json: Json = False) -> None:
    """Enable a disabled account: its keys work again. A browser needs a new link (`owner-link --account`).

    Example: quorate service enable 0123456789abcdef01234567 --database quorate.db
    """
    with existing(database) as store:
        done = enable_account(store, account, now=time.time())
    _print_account(done, "is enabled", json=json)


@app.command("check")
def check(database: Database = "quorate.db", json: Json = False, quiet: Quiet = False) -> None:
    """Recompute every decision from its events and compare; exit code 1 if any differs. The service can keep running.

    Example: quorate service check --database quorate.db
    """
    with existing(database) as store, progress_bar(quiet=quiet) as report:
        prepare(store)
        checked = recompute(store, progress=report)
    _print_checked(checked, json=json)
    if checked.num_disagreements:
        raise typer.Exit(1)


def _print_account(account: Account, what: str, *, json: bool) -> None:
    if json:
        print_json({"id": account.id, "name": account.name, "disabled": account.disabled})
    else:
        print_lines(f"{account.name} ({account.id}) {what}.")


def _print_checked(checked: Verification, *, json: bool) -> None:
    first = [
        {"project": project, "item": each.item, "seq": each.seq, "stored": each.stored, "recomputed": each.recomputed}
        for project, each in checked.first
    ]
    counts = {
        name: getattr(checked, f"num_{name}") for name in ("projects", "items", "events", "votes", "disagreements")
    }
    if json:
        print_json(counts | {"first": first})
        return
    print_lines(
        f"{counted(checked.num_projects, 'projects')}, {counted(checked.num_items, 'items')}, "
        f"{counted(checked.num_events, 'events')} ({counted(checked.num_votes, 'votes')}, those undone too): "
        f"{checked.num_disagreements} decisions differ from their events."
    )
    for each in first:
        where = f"event {each['seq']}" if each["seq"] else "the item's row"
        print_lines(f"  {each['project']}, item {each['item']}, {where}: {each['stored']} is not {each['recomputed']}")
