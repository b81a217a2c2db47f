"""`quorate connect label-studio`: people annotate in Label Studio, quorate decides when a task has enough answers.

`--undo` restores the project there.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from quorate.commands.main import Commands
from quorate.commands.output import print_lines
from quorate_service.access.credentials import sign_in_link
from quorate_service.cli.serve import DATABASE, BaseUrl, Database, from_options, listen_address, run_service
from quorate_service.domain.projects import Projects
from quorate_service.label_studio.client import LabelStudio, checked_address
from quorate_service.label_studio.connections import connection_to
from quorate_service.label_studio.connector import Attached, attach
from quorate_service.label_studio.connector import undo as restore
from quorate_service.label_studio.settings import (
    VARIABLE,
    ConnectSettings,
    read_config,
    token_of,
)
from quorate_service.store import Store, existing
from quorate_service.store.prepare import prepare

HELP = """
Let people answer in a tool they already use; quorate decides when enough have answered (docs/howto/label-studio.md).
"""

app = typer.Typer(name="connect", cls=Commands, help=HELP, no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def connect() -> None:
    """One command for each tool."""


TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        help="A file, that only you can read, with the API token of a user who may change the project; default: the "
        f"variable {VARIABLE}.",
    ),
]


@app.command("label-studio")
def label_studio(
    url: Annotated[str, typer.Option(help="Address of Label Studio, e.g. http://127.0.0.1:8080.")],
    project: Annotated[int, typer.Option(min=1, help="Number of the project in its Label Studio address.")],
    token_file: TokenFile = None,
    config: Annotated[
        str | None, typer.Option(help="A connect.toml: how to read the project, and the settings of the project here.")
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="How many people could be asked per task; default: as in Label Studio.")
    ] = None,
    database: Database = DATABASE,
    host: Annotated[str, typer.Option(help="Address to listen on for webhooks and the dashboard.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    base_url: BaseUrl = None,
    attach_only: Annotated[
        bool, typer.Option("--attach-only", help="Connect only; the `quorate serve` of this database does the rest.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Remove the webhook; restore overlap, state and data of every task.")
    ] = False,
) -> None:
    """Decide after every annotation of a Label Studio project, and close tasks that need no more.

    Reads the classes, predictions and annotations there, asks for as many people as each task still needs, and writes
    consensus, confidence and reason into the data of closed tasks. Serves a dashboard until Ctrl-C; run it again to
    continue. `--undo` keeps the annotations there, and the votes and decisions here.

    Example: quorate connect label-studio --url http://127.0.0.1:8080 --project 3 --pool-size 3
    """
    if undo:
        _undone(database, checked_address(url), project, token_file)
        return
    given = read_config(config) if config is not None else None
    settings: dict[str, Any] = dict(given.settings) if given else {}
    if pool_size is not None:
        settings["pool_size"] = pool_size
    how = dict(given.how) if given else {}
    here = base_url or listen_address(host, port)
    how.setdefault("callback", here)
    if token_file is not None:
        how["token_file"] = str(Path(token_file).absolute())
    link = _attached(database, checked_address(url), project, ConnectSettings.of(how), settings, here)
    if attach_only:
        print_lines("A running `quorate serve` of this database starts work within a second; or start one.", *link)
        return
    run_service(from_options(database, base_url), host=host, port=port, first=link)


def _undone(database: str, url: str, project: int, token_file: str | None) -> None:
    """Restore the project there, and print how many tasks were changed."""
    with existing(database) as store:
        link = connection_to(store, url, project)
        how = link.how if token_file is None else replace(link.how, token_file=str(Path(token_file).absolute()))
        client = LabelStudio(link.url, token_of(how))
        try:
            changed = restore(Projects(store), link, client, now=time.time())
        finally:
            client.close()
    print_lines(
        f"Disconnected from Label Studio project {project} at {url}; {changed} tasks were restored.",
        f"Votes and decisions stay in project {link.project_id} here.",
    )


def _attached(
    database: str, url: str, project: int, how: ConnectSettings, settings: dict[str, Any], here: str
) -> list[str]:
    """Connect, or continue; returns the lines to print."""
    os.umask(0o077)
    store, client = Store(database), LabelStudio(url, token_of(how))
    try:
        prepare(store)
        done = attach(store, client, project, how, settings, now=time.time())
        link = sign_in_link(store, done.owner, here, now=time.time())
    finally:
        client.close()
        store.close()
    return _summary(done, url, project, here, link)


def _summary(done: Attached, url: str, project: int, here: str, link: str) -> list[str]:
    what = "Connected to" if done.is_new else "Continues with"
    return [
        f"{what} Label Studio project {project}, {done.title!r}: {', '.join(done.classes)}; at most {done.pool_size} "
        "people for each task.",
        f"Annotate at {url}/projects/{project}/data",
        f"Dashboard: {here}/p/{done.project_id}; to sign in, open this link once, within 15 minutes:",
        f"  {link}",
    ]
