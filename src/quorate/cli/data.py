"""`quorate data list | fetch | check`: lists and downloads published data sets, and identifies files on disk."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.main import Commands
from quorate.cli.options import Json, option
from quorate.cli.output import fail, print_json, print_lines, print_table, progress_bar
from quorate.datasets.catalogue import CATALOGUE, Inspection, inspect
from quorate.datasets.content import cache_folder
from quorate.datasets.fetch import describe, fetch
from quorate.version import __version__

app = typer.Typer(
    name="data", cls=Commands, help="Published data sets: list them, fetch them, check what you have.",
    no_args_is_help=True,
)  # fmt: skip


@app.command("list")
def list_sets(
    cache: Annotated[Path | None, option("Folder of the downloads, instead of the default cache.")] = None,
    json: Json = False,
) -> None:
    """List the data sets, their licences, and which are already downloaded.

    Example: quorate data list
    """
    folder = cache if cache is not None else cache_folder()
    here = {name: all((folder / name / f.name).is_file() for f in e.to_fetch) for name, e in CATALOGUE.items()}
    state = {
        name: "by hand" if not entry.to_fetch else "here" if here[name] else "to fetch"
        for name, entry in CATALOGUE.items()
    }
    if json:
        sets = [asdict(entry) | {"state": state[name]} for name, entry in CATALOGUE.items()]
        print_json({"sets": sets, "cache": str(folder), "version": __version__})
        return
    rows = [(name, state[name], entry.title, entry.licence) for name, entry in CATALOGUE.items()]
    print_table("Data sets", ("name", "state", "what", "licence"), rows, text_columns=4)
    print_lines(f"Cache: {folder}", "To fetch one: quorate data fetch NAME. To check files: quorate data check PATH.")


@app.command("fetch")
def fetch_set(
    name: Annotated[str, typer.Argument(help="A data set of `quorate data list`.")],
    cache: Annotated[Path | None, option("Folder to save it in; then use load(folder).")] = None,
    mirror: Annotated[str | None, option("Base URL of a mirror that has the files, instead of GitHub.")] = None,
    folder: Annotated[Path | None, option("Copy from this folder, verified, instead of downloading.", "--from")] = None,
    yes: Annotated[bool, option("Agree to the licence; do not ask.", "--yes", "-y")] = False,
    json: Json = False,
) -> None:
    """Download a data set: shows licence and citation first, verifies each file, resumes broken transfers.

    Example: quorate data fetch imagenet16h_shift --yes
    """
    terms = describe(name)
    if json:
        print("\n".join(terms), file=sys.stderr)
    else:
        print_lines(*terms)
    if not yes and not _agreed():
        fail("nothing was fetched: read the licence above and pass --yes.")
    with progress_bar() as report:
        files = fetch(name, cache=cache, mirror=mirror, folder=folder, report=report)
    if json:
        rows = [asdict(file) | {"path": str(file.path)} for file in files]
        print_json({"name": name, "terms": list(terms), "files": rows, "version": __version__})
        return
    print_lines(*(f"{file.how}: {file.path} ({file.num_bytes} bytes, verified)" for file in files))
    where = "" if cache is None else repr(str(cache))
    print_lines(f"In Python: quorate.datasets.{name}.load({where})")


def _agreed() -> bool:
    """Ask for consent on a terminal; False elsewhere."""
    return sys.stdin.isatty() and typer.confirm("Fetch it under this licence?", err=True)


@app.command("check")
def check(
    path: Annotated[Path, typer.Argument(help="A file, or a folder with files of data sets.")],
    predictions: Annotated[
        Path | None, option("Predictions for votes without any: .npy, .npz, .csv, .parquet.")
    ] = None,
    json: Json = False,
) -> None:
    """Identify a file or folder: which data set it is, whether it is unchanged, shapes, models, accuracy, checksum.

    Exit code 1 if a file cannot be used or is not the published one.

    Example: quorate data check downloads/imagenet16h_dist_shift.pkl
    """
    found = inspect(path, predictions=predictions)
    if json:
        print_json(asdict(found) | {"version": __version__})
    else:
        _print(found)
    if found.problems:
        fail("; ".join(problem.rstrip(".") for problem in found.problems))


def _print(found: Inspection) -> None:
    """A line for each file, then each data set with its classifiers."""
    states = {True: "as published", False: "NOT as published", None: "nothing to compare with"}
    for file in found.files:
        what = file.what or "unknown file"
        print_lines(f"{file.path}: {what}; {states[file.intact]} (git blob {file.git_blob[:12]}); holds {file.content}")
    print_lines("")
    for facts in found.datasets:
        least, most = facts.votes_per_item
        votes = str(least) if least == most else f"{least} to {most}"
        print_lines(
            f"{facts.name}: {facts.num_items} items, {len(facts.classes)} classes, {votes} votes an item, "
            f"content {facts.checksum[:12]}"
        )
        shares = [(model, " / ".join(f"{100 * x:.1f} %" for x in row)) for model, row in facts.accuracy.items()]
        print_table("Against the votes' plurality, by block", ("model", "accuracy"), shares)
        print_lines(*(f"note: {note}" for note in facts.notes), "")
