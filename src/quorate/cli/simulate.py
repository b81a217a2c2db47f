"""`quorate simulate`: cost and error of methods on a synthetic stream or on a recorded data set."""

from __future__ import annotations

from functools import partial
from typing import Annotated, cast

from quorate.cli.options import CostsTable, Json, TargetName, method_names, option
from quorate.cli.output import print_json, print_lines, print_table, progress_bar
from quorate.methods import Target, default_for
from quorate.version import __version__
from quorate.workflows.simulate import StreamSource, compare_methods

synthetic = partial(option, panel="Parameters of the synthetic stream")


def simulate(
    method: Annotated[
        list[str] | None,
        option(
            "A method, repeatable; parameters after a colon: quorum:votes=4. See quorate methods.",
            "--method",
            "-m",
            complete=method_names,
        ),
    ] = None,
    sweep: Annotated[bool, option("Try the whole range of each method's parameter.", "--sweep")] = False,
    data: Annotated[
        str | None,
        option("An .npz with votes (T, N) or counts (T, K), and probs (models, T, K), instead of a synthetic one."),
    ] = None,
    model: Annotated[str, option("With --data: number or name of the classifier, or all to use them together.")] = "0",
    target: TargetName = None,
    costs: CostsTable = None,
    pool_size: Annotated[
        int | None, option("Experts per item; 10, or with --data all votes of the item.", "--pool-size", "-n")
    ] = None,
    items: Annotated[int | None, synthetic("Items of the stream; 2000.")] = None,
    classes: Annotated[int | None, synthetic("Number of classes; 10.")] = None,
    accuracy: Annotated[float | None, synthetic("How often the classifier names the true class; 0.7.")] = None,
    calibration: Annotated[
        float | None, synthetic("1 calibrated, above 1 overconfident, below 1 underconfident; 1.")
    ] = None,
    unevenness: Annotated[float | None, synthetic("0 to 1: how far its accuracy differs between classes; 0.")] = None,
    agreement: Annotated[float | None, synthetic("How often an expert names the true class; 0.8.")] = None,
    shift_accuracy: Annotated[float | None, synthetic("Accuracy of the classifier from half-way on.")] = None,
    seed: Annotated[int, option("Seed of the stream; the same seed gives the same answer.")] = 0,
    repeats: Annotated[int, option("Streams to average over, with seeds seed, seed + 1, ...")] = 1,
    out: Annotated[str | None, option("Folder for results.csv, summary.json and the plot.", "--out", "-o")] = None,
    json: Json = False,
) -> None:
    """What methods cost and how often they are wrong: on a stream like yours, or on your own recorded votes.

    All methods see the same items, experts and ties. Votes per item are the cost; with --costs a
    vote counts as what its person costs. Wrong means different from the plurality of the whole pool, or from the true
    class with --target truth (the `labels` of --data).

    Example: quorate simulate --method value --method beta --accuracy 0.9 --pool-size 6 --out results
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
        target=cast("Target | None", target),
        costs=costs,
    )
    with progress_bar(quiet=json) as report:
        specs = method or [default_for(None, source.target)]
        result = compare_methods(specs, source, whole_range=sweep, out=out, progress=report)
    if json:
        print_json(result.summary())
        return
    heads = (
        "method",
        "parameter",
        result.unit,
        "wrong %",
        "saved against everyone",
        "saved against until settled",
    )
    each = f"asking everyone costs {result.ask_all:g} each" if result.is_priced else f"{result.ask_all:g} experts each"
    title = f"{result.name}: {result.num_items} items, {each} (quorate {__version__}, seed {seed})"
    print_table(title, heads, [row.cells() for row in result.rows], text_columns=2, strong="value")
    print_lines(*result.notes, *(f"Written: {file}" for file in result.files))
