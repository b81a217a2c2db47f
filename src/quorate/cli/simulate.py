"""`quorate simulate`: what methods cost and how often they err, on a synthetic stream or on a recorded data set."""

from __future__ import annotations

from typing import Annotated

import typer

from quorate.cli.options import Json, method_names
from quorate.cli.output import print_json, print_lines, print_table, progress_bar
from quorate.version import __version__
from quorate.workflows.simulate import StreamSource, compare_methods

SYNTHETIC = "Parameters of the synthetic stream"


def simulate(
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method, repeatable; parameters behind a colon: quorum:votes=4. See quorate methods.",
            autocompletion=method_names,
        ),
    ] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Try the whole range of each method's parameter.")] = False,
    data: Annotated[
        str | None,
        typer.Option(
            help="An .npz with votes (T, N) or counts (T, K), and probs (models, T, K), instead of a synthetic one."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="With --data: number or name of the classifier, or all to use them together.")
    ] = "0",
    pool_size: Annotated[
        int | None,
        typer.Option("--pool-size", "-n", help="Experts per item; 10, or with --data all votes of the item."),
    ] = None,
    items: Annotated[int | None, typer.Option(help="Items of the stream; 2000.", rich_help_panel=SYNTHETIC)] = None,
    classes: Annotated[int | None, typer.Option(help="Number of classes; 10.", rich_help_panel=SYNTHETIC)] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(help="How often the classifier names the true class; 0.7.", rich_help_panel=SYNTHETIC),
    ] = None,
    calibration: Annotated[
        float | None, typer.Option(help="1 honest, above 1 overconfident, below 1 shy; 1.", rich_help_panel=SYNTHETIC)
    ] = None,
    unevenness: Annotated[
        float | None,
        typer.Option(help="0 to 1: how far its accuracy differs between classes; 0.", rich_help_panel=SYNTHETIC),
    ] = None,
    agreement: Annotated[
        float | None, typer.Option(help="How often an expert names the true class; 0.8.", rich_help_panel=SYNTHETIC)
    ] = None,
    shift_accuracy: Annotated[
        float | None, typer.Option(help="Accuracy of the classifier from half-way on.", rich_help_panel=SYNTHETIC)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the stream; the same seed gives the same answer.")] = 0,
    repeats: Annotated[int, typer.Option(help="Streams to average over, with seeds seed, seed + 1, ...")] = 1,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Folder for results.csv, summary.json and the plot.")
    ] = None,
    json: Json = False,
) -> None:
    """What methods cost and how often they are wrong: on a stream like yours, or on your own recorded votes.

    All methods meet the same items, experts and ties. Votes per item are the cost; wrong means other than the
    plurality of the whole pool.

    Example: quorate simulate --method quorate --method beta --accuracy 0.9 --pool-size 6 --out results
    """
    source = StreamSource(
        data=data,
        model=int(model) if model.isdecimal() else model,
        pool_size=pool_size,
        dials={
            "num_items": items,
            "num_classes": classes,
            "accuracy": accuracy,
            "calibration": calibration,
            "unevenness": unevenness,
            "agreement": agreement,
            "shift_accuracy": shift_accuracy,
        },
        seed=seed,
        repeats=repeats,
    )
    with progress_bar(quiet=json) as report:
        result = compare_methods(method or ["quorate"], source, whole_range=sweep, out=out, progress=report)
    if json:
        print_json(result.summary())
        return
    heads = (
        "method",
        "parameter",
        "votes per item",
        "wrong %",
        "saved against everyone",
        "saved against until settled",
    )
    title = (
        f"{result.name}: {result.num_items} items, {result.ask_all:g} experts each (quorate {__version__}, seed {seed})"
    )
    print_table(title, heads, [row.cells() for row in result.rows], text_columns=2, strong="quorate")
    print_lines(*result.notes, *(f"Written: {file}" for file in result.files))
