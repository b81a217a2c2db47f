"""`quorate reproduce`: the paper's experiments on real data, and the data sets they need."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from quorate.commands.main import SENTENCES, Commands
from quorate.commands.options import option
from quorate.commands.output import fail, print_lines, print_table, progress_bar
from quorate_paper.datasets import CATALOGUE, LOADERS, data_folder, describe, fetch, find
from quorate_paper.report import QUICK, Reproduction, headline, said, shortened
from quorate_paper.reproduce import OUT
from quorate_paper.reproduce import reproduce as run

MOST_FAILED = 6  # claims that do not hold, on the screen; all are in the report

app = typer.Typer(
    name="reproduce", cls=Commands, help=SENTENCES["reproduce"], no_args_is_help=True, add_completion=False
)
Name = Annotated[str, typer.Argument(help="A data set of `quorate reproduce list`.")]
Out = Annotated[str, option("Folder for all output; existing results are reused.", "--out", "-o")]
AsPublished = Annotated[
    bool, option("Run the paper's own estimators, too, instead of showing their stored results.", "--as-published")
]
Quick = Annotated[bool, option("Fewer items, parameter values and orderings: minutes, not quotable.", "--quick")]


@app.command("list")
def list_sets() -> None:
    """List the data sets, their licences, and which of them are here.

    Here means in the folder that QUORATE_DATA names, or else in the user's cache.

    Example: quorate reproduce list
    """
    folder = data_folder(None)
    state = {name: _state(name, find(folder, LOADERS[name][1], dataset=name) is not None) for name in CATALOGUE}
    rows = [(name, state[name], entry.title, entry.licence) for name, entry in CATALOGUE.items()]
    print_table("Data sets", ("name", "state", "what", "licence"), rows, text_columns=4)
    print_lines(f"Folder: {folder}", "To fetch one: quorate reproduce fetch NAME")


def _state(name: str, is_here: bool) -> str:
    return "here" if is_here else "to fetch" if CATALOGUE[name].files else "by hand"


@app.command("fetch")
def fetch_set(
    name: Name,
    yes: Annotated[bool, option("Agree to the licence; do not ask.", "--yes", "-y")] = False,
) -> None:
    """Download a data set: shows licence and citation first, and verifies each file.

    Files go to the folder that QUORATE_DATA names, or else to the user's cache.

    Example: quorate reproduce fetch imagenet16h_shift --yes
    """
    print_lines(*describe(name))
    agreed = yes or (sys.stdin.isatty() and typer.confirm("Fetch it under this licence?", err=True))
    if not agreed:
        fail("nothing was fetched: read the licence above and pass --yes.")
    files = fetch(name, progress=sys.stderr.isatty())
    print_lines(*(f"Verified: {file}" for file in files))
    print_lines(f"In Python: quorate.datasets.{name}.load()")


@app.command("shift")
def run_shift(out: Out = OUT, quick: Quick = False, as_published: AsPublished = False) -> None:
    """The ImageNet-16H shift: error and votes before and after, at the paper's budgets.

    Says before it starts how long it takes here. --as-published takes an hour and writes as_published.json.

    Example: quorate reproduce shift --quick
    """
    _show(_run("shift", out=out, quick=quick, as_published=as_published))


def _experiment(name: str, sentence: str) -> None:
    """Add the command of one experiment."""

    @app.command(name, help=f"{sentence}\n\nExample: quorate reproduce {name} --quick")
    def command(out: Out = OUT, quick: Quick = False) -> None:
        _show(_run(name, out=out, quick=quick))


_experiment("curves", "Error against votes of every method on every data set, and the areas under the curves.")
_experiment("two-phase", "Votes on the first items only: what learning from them is worth for the rest.")
_experiment("calibration", "What tau learns: its correlation with the classifier's accuracy by class.")


@app.command("all")
def run_all(
    out: Out = OUT,
    quick: Quick = False,
    cluster: Annotated[
        str | None, option("Run on a Dask cluster: tcp://HOST:PORT, or local:2 to start one here.", "--cluster")
    ] = None,
) -> None:
    """All experiments, on every core or on a cluster; the results are the same.

    Reads the data sets in the folder that QUORATE_DATA names, or else in the user's cache (quorate reproduce list).

    You can stop it with Ctrl-C or kill it at any time: the same command continues where it stopped.

    Example: quorate reproduce all --out quorate-reproduction
    """
    _show(_run("all", out=out, quick=quick, cluster=cluster))


def _run(what: str, *, out: str, quick: bool, cluster: str | None = None, as_published: bool = False) -> Reproduction:
    def announce(text: str) -> None:
        print(f"quorate: {text}", file=sys.stderr)

    try:
        with progress_bar() as report:
            return run(
                what, out=out, quick=quick, cluster=cluster, as_published=as_published, progress=report,
                announce=announce,
            )  # fmt: skip
    except KeyboardInterrupt:
        print(f"quorate: finished runs are kept in {out}; the same command continues from there", file=sys.stderr)
        raise


def _show(done: Reproduction) -> None:
    """The result in a sentence, a row for each experiment, claims that do not hold, and where the report is."""
    print_lines(headline(done), "")
    rows = [
        (part.name, *(said(part.section.claims, is_quoted=own) for own in (True, False)), f"{part.seconds:.0f}")
        for part in done.parts
    ]
    print_table("By experiment", ("experiment", "claims of the paper", "our own checks", "seconds"), rows)
    failed = list(dict.fromkeys(claim.text for claim in done.claims if claim.holds is False))
    print_lines(*(shortened(f"Does not hold: {text}") for text in failed[:MOST_FAILED]))
    notes = [QUICK] if done.quick else []
    notes += [f"{len(done.left_out)} results are left out, because their data is missing: see the report."] * bool(
        done.left_out
    )
    print_lines(*notes, f"Report, tables, figures and every run: {done.out / 'report.html'}")
