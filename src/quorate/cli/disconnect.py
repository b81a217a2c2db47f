"""`quorate disconnect`: restores a Label Studio project to its state before `quorate connect`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.connect import TokenFile
from quorate.cli.options import Json
from quorate.cli.output import print_json, print_lines
from quorate.cli.serve import DATABASE, Database
from quorate.connect.label_studio.client import LabelStudio
from quorate.connect.label_studio.settings import token_of
from quorate.service.domain.projects import Projects
from quorate.service.label_studio.connections import chosen_connection
from quorate.service.label_studio.connector import undo
from quorate.service.store import existing


def disconnect(
    database: Database = DATABASE,
    project: Annotated[
        str | None, typer.Option(help="The project here, e.g. p_0123456789abcdef; default: the only one connected.")
    ] = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Undo `quorate connect`: remove the webhook, and restore overlap, state and data of every task.

    Annotations are kept, and so are the votes and decisions in the database here. A running `quorate serve` or
    `quorate connect` stops working on the project first. After an interruption, run it again.

    Example: quorate disconnect --database quorate.db
    """
    with existing(database) as store:
        link = chosen_connection(store, project)
        how = link.how if token_file is None else replace(link.how, token_file=str(Path(token_file).absolute()))
        client = LabelStudio(link.url, token_of(how))
        try:
            changed = undo(Projects(store), link, client, now=time.time())
        finally:
            client.close()
    if json:
        print_json({"project": link.project_id, "url": link.url, "remote": link.remote_id, "tasks_changed": changed})
        return
    print_lines(
        f"Disconnected from Label Studio project {link.remote_id} at {link.url}; {changed} tasks were restored.",
        f"Votes and decisions stay in project {link.project_id} here.",
    )
