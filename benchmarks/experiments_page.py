"""Writes docs/experiments.md from the folder of a full reproduction; every number on the page is in its summary.json.

    quorate reproduce all --out quorate-reproduction
    python benchmarks/experiments_page.py quorate-reproduction

If the parts were run into folders of their own: the folder of `shift` first, then the others.

Also copies the figures of the page. Run by `make docs-experiments`.
"""

# ruff: noqa: E501  (the page is text)

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = ("shift-curves", "shift-orderings", "curves-cifar10h-10", "curves-imagenet16h-6",
           "calibration-tau-by-class-imbalanced")  # fmt: skip
LABELS = {
    "random": "RANDOM", "entropy": "ENTROPY", "mp": "MP as described", "mp-released": "MP as released",
    "fixed-finexp": "Fix-FinExp", "fixed-infexp": "Fix-InfExp", "finexp": "FinExp", "infexp": "InfExp",
    "finexp:hyperprior=infexp": "FinExp, Gamma(3, 2)", "value": "value",
}  # fmt: skip
COLUMNS = ("as_published", "as_released", "exact", "finexp_32")
HEADS = ("as published", "as released", "exact, paper's prior", "exact, Gamma(3, 2)")
VERDICTS = {True: "holds", False: "does not hold", None: "cannot be tested"}
NO_RUNS = "no runs"
MOST = 200  # characters of a measurement on this page
ITEMS = (  # of the paper, by part: (what it shows, figure or table of the reproduction)
    ("curves", "error-cost curves on CIFAR-10H, 3, 10 and 50 experts", "figures/curves-cifar10h-{3,10,50}.svg"),
    ("curves", "error-cost curves on ImageNet-16H, 6 experts", "figures/curves-imagenet16h-6.svg"),
    ("shift", "error before and after the shift, by budget", "figures/shift-budgets.svg"),
    ("shift", "the same at 2 votes, by classifier", "figures/shift-architectures.svg"),
    ("shift", "error over time, mean of 100 orderings", "figures/shift-orderings.svg"),
    ("shift", "table of errors before and after the shift",
     "tables/shift-pre-shift-cost.csv, tables/shift-whole-stream-cost.csv"),
    ("two-phase", "table of accuracy gained without queries", "tables/two-phase.csv, tables/two-phase-imbalanced.csv"),
    ("calibration", "accuracy by class and learned tau", "figures/calibration-tau-by-class.svg"),
    ("calibration", "table of correlations of tau", "tables/calibration.csv, tables/calibration-imbalanced.csv"),
)  # fmt: skip
SETS = {"cifar10h": "CIFAR-10H", "imagenet16h": "ImageNet-16H", "imagenet16h_shift": "ImageNet-16H shift",
        "chaosnli": "ChaosNLI"}  # fmt: skip


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def label(method):
    return LABELS.get(method, method)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def verdict(claim):
    return VERDICTS[claim["holds"]] + (" (quick run)" if claim.get("quick") and claim["holds"] is not None else "")


def quotations(summary):
    """The paper's claims, by the text quoted: one may be tested on two sets of classifiers. Failing ones first."""
    found = {}
    for claim in summary["claims"]:
        if claim["source"]:
            found.setdefault((claim["text"], claim["source"]), []).append(claim)
    order = {"does not hold": 0, "holds on some classifiers only": 1, "holds": 2, "cannot be tested": 3}
    return dict(sorted(found.items(), key=lambda pair: order[kind(pair[1])]))


def kind(claims):
    verdicts = {claim["holds"] for claim in claims}
    return "holds on some classifiers only" if len(verdicts) > 1 else VERDICTS[verdicts.pop()]


def measured(claim, *, say):
    return (f"{VERDICTS[claim['holds']]}: " if say else "") + short(claim["measured"])


def short(text):
    """A measurement in a line or two; what it was measured on stays at its end."""
    if len(text) <= MOST:
        return text
    body, bracket, where = text.rpartition(" (classifiers")
    cut = (body or text)[:MOST].rsplit(" ", 1)[0].rstrip(",;:")
    return f"{cut} …{bracket}{where if bracket else ''}"


def quoted(summary):
    rows = [
        (f"“{text}” ({source})", "; ".join(dict.fromkeys(map(verdict, claims))) if kind(claims) in VERDICTS.values()
         else kind(claims), "; ".join(measured(claim, say=len({each["holds"] for each in claims}) > 1) for claim in claims))
        for (text, source), claims in quotations(summary).items()
    ]  # fmt: skip
    return table(("the paper says", "verdict", "measured, or why not"), rows)


def own(summary):
    return "\n".join(
        f"- {claim['text']} {VERDICTS[claim['holds']].capitalize()}{' (quick run)' * bool(claim.get('quick'))}: "
        f"{claim['measured']}."
        for claim in summary["claims"] if not claim["source"]
    )  # fmt: skip


def held(summary):
    kinds = [kind(claims) for claims in quotations(summary).values()]
    counts = [(kinds.count(name), name) for name in ("holds", "does not hold", "holds on some classifiers only")]
    untested = kinds.count("cannot be tested")
    (holds, _), (fails, _), (some, _) = counts
    return f"{len(kinds)} in all, {holds} hold, {fails} do not, {some} hold on some classifiers only, {untested} cannot be tested"


def quick_claims(summary):
    many = sum(any(claim.get("quick") and claim["holds"] is not None for claim in claims)
               for claims in quotations(summary).values())  # fmt: skip
    return f"; {many} of these were tested by a quick run with one seed, and may change in a whole one" if many else ""


def ratios(summary):
    found = {}
    for row in summary["auc"]:
        if row["model"] != "all":
            found.setdefault((row["dataset"], row["pool_size"]), {}).setdefault(row["method"], []).append(row)
    methods = list(next(iter(found.values())))
    rows = []
    for (dataset, pool), by_method in found.items():
        for key, name in (("ratio_to_finexp", "all"), ("ratio_to_finexp_5_90", "5–90 %")):
            means = (sum(row[key] for row in by_method[m]) / len(by_method[m]) for m in methods)
            rows.append((f"{SETS[dataset]}, {pool}", name, *(number(mean, 3) for mean in means)))
    return table(("data set, pool", "budgets", *map(label, methods)), rows)


def shift(summary, grouping):
    rows = [row for row in summary["shift_table"] if row["grouping"] == grouping]
    ours = [
        (row["label"], f"{row['budget']:g}", row["phase"], f"{row['printed']:.2f} ± {row['printed_se']:.2f}",
         *(row.get(f"{name}_text", NO_RUNS) for name in COLUMNS))
        for row in rows
    ]  # fmt: skip
    value = [
        ("value", f"{row['budget']:g}", row["phase"], "not in the paper",
         *(row["value_text"] if name == "exact" else NO_RUNS for name in COLUMNS))
        for row in rows if row["method"] == "random"
    ]  # fmt: skip
    return table(("method", "votes", "phase", "printed", *HEADS), [*ours, *value])


def counted(summary):
    return table(("column", "budgets are", "cells", "within 2 standard errors", "within 2 points or 3 standard errors"), [
        (HEADS[COLUMNS.index(each["column"])], each["grouping"], *(str(each[key]) for key in ("total", "close", "near")))
        for each in summary["shift_counts"]
    ])  # fmt: skip


def origin(stored):
    libraries = ", ".join(f"{name} {version}" for name, version in stored["libraries"].items())
    return f"quorate {stored['version']}, {libraries}, seeds {', '.join(map(str, stored['seeds']))}"


def written(folder, name):
    """A table of the report, from its CSV."""
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    return table(heads, [[shortened(cell) for cell in row] for row in rows])


def shortened(cell):
    try:
        return f"{float(cell):.2f}" if "." in cell and len(cell) > 5 else cell
    except ValueError:
        return cell


def by_budget(rows, value, digits):
    budgets = sorted({row["budget"] for row in rows})
    cells = {(row["model"], row["method"], row["budget"]): row for row in rows}
    pairs = list(dict.fromkeys((row["model"], row["method"]) for row in rows))
    names = {row["method"]: row["label"] for row in rows}
    out = []
    for model, method in pairs:
        texts = []
        for budget in budgets:
            row = cells.get((model, method, budget))
            paper = f" ({number(row['paper'], digits)})" if row and row.get("paper") is not None else ""
            texts.append(
                NO_RUNS if row is None else f"{number(row[value], digits)} ± {number(row['se'], digits)}{paper}"
            )
        out.append((model, names[method], *texts))
    return table(("classifier", "method", *(f"{budget:g} votes" for budget in budgets)), out)


def page(summary, folder, made, notes):
    taken = {part: value for part, value in summary["seconds"].items() if part != "total"}
    seconds = ", ".join(f"{part} {value:.0f} s{' (quick)' if notes.get(part) else ''}" for part, value in taken.items())
    paper_items = table(("figure or table of the paper", "command", "file in `--out`"), [
        (shows, f"`quorate reproduce {part}`", ", ".join(f"`{name}`" for name in files.split(", ")))
        for part, shows, files in ITEMS
    ])  # fmt: skip
    return f"""# Reproducing the paper

`quorate reproduce all` repeats every experiment of *Bayesian Online Learning for Consensus Prediction* on the
real votes and compares each table with the paper's figures. This page is written by
`python benchmarks/experiments_page.py quorate-reproduction` from such a run (seeds {", ".join(map(str, summary["seeds"]))};
quorate {summary["version"]}). {made}[How to get the data](data.md); [on several machines](cluster.md);
[every deviation from the paper](paper-notes.md).

```
pip install '.[reproduce]' && quorate reproduce fetch imagenet16h_shift && quorate reproduce shift --quick   # a first result
quorate reproduce all --out quorate-reproduction      # everything; open quorate-reproduction/report.html
quorate reproduce shift --as-published                # runs the paper's own estimators, too
```

It says before it starts how long it takes on this machine. You can stop or kill it at any time, and it continues where it
stopped: each result is stored under a hash of its design, its data and the code. The results are the same for any number of
jobs, here or on a cluster.

Elapsed time of the parts (files: tables and figures), on two cores that other programs used, too: {seconds}; {sum(taken.values()) / 60:.0f} minutes in
all, in which {summary["runs"]["run"]:,} runs took {summary["runs"]["core_seconds"]:.0f} s of CPU. `quorate reproduce all --quick` takes about two minutes on
them.

{paper_items}

The paper's methods have the paper's settings, declared in `quorate_paper/settings.py`: FinExp Gamma(1.1, 1), InfExp
Gamma(3, 2), a window of 500 items, a fit after every 20 closed items, budgets of 0.5, 1, 2 and 3 votes within 0.1. FinExp
under Gamma(3, 2), as in the released code, is a row of its own.

## What the paper says

The paper's empirical claims are quoted below, those that do not hold first: {held(summary)}{quick_claims(summary)}.
A quotation that was tested on two sets of classifiers is one claim. Long measurements are cut here; the report has them in full.

{quoted(summary)}

### Our own checks

Not claims of the paper, and not counted as such.

{own(summary)}

## Distribution shift

Error in percent before and after the shift, mean over five classifiers and the seeds ± the standard error over seeds. The
paper groups runs by their average cost and does not say over what. Both groupings are shown, and both are counted.

- **As published**: 1,000 draws of the winner and Adam. FinExp has the closed likelihood that its importance samples
  estimate; with the 1,000 samples themselves it ran at 2 votes on one classifier, a row of its own (there every column but
  the printed one is of that classifier).
- **As released**: the votes already seen are left out of the final count, and FinExp has Gamma(3, 2), too (with the closed
  likelihood); MP asks by 1 - max f. InfExp has the same rule and prior in both.
- **Exact**: this library under the paper's prior, and FinExp under Gamma(3, 2). **value**, the default method, has its own prior.

The first two were computed by a script that calls the estimators of `quorate reproduce shift --as-published` with fewer settings, and are stored in the package ({origin(summary["as_published"])}).
A stream counts at a budget if one of its runs costs within 0.1 votes of it. "{NO_RUNS}": none was made, or none costs that much.
Stored runs as released and of InfExp begin at threshold 0.6, so budgets below its cost have no runs, whatever the method could spend.

**Budgets are votes per item before the shift:**

{shift(summary, "pre-shift cost")}

**Budgets are votes per item over the whole stream**, where every method spends the same:

{shift(summary, "whole-stream cost")}

**Printed cells that agree**, by the combined standard error of the measured and the printed figure. A difference in either
direction is a difference; cells that some classifier does not reach are left out.

{counted(summary)}

![Mean error before and after the shift against votes per item, all methods](figures/experiments/shift-curves.png)

![Error over time through the shift, mean of 100 orderings with 95 % bands](figures/experiments/shift-orderings.png)

### As published against exact

{chr(10).join(f"- {text}" for text in summary["shift_contrast"])}

{WHY}

{written(folder, "shift-importance-samples")}

## Error-cost curves

{notes["curves"]}![Error against votes per item on CIFAR-10H with ten experts, a panel for each classifier](figures/experiments/curves-cifar10h-10.png)

![Error against votes per item on ImageNet-16H with six experts](figures/experiments/curves-imagenet16h-6.png)

Area under the error-cost curve relative to exact FinExp under the paper's prior, mean over classifiers and seeds; below 1 is
better. "All" is the whole range of costs both methods reach, from never asking on; "5–90 %" of the cost of asking until
settled. Near never asking every method equals the classifier, and at the tie floor none can gain, so both ranges are given.

{ratios(summary)}

## Two phases: learn from experts, then answer without them

{notes["two-phase"]}Points of accuracy gained over the classifier alone on CIFAR-10H after 1000 items with experts (pool of 50); the paper's
figure for its classifier of the nearest accuracy in brackets.

**Classifiers trained on uneven class counts**, as the paper describes its own:

{by_budget(summary["two_phase_imbalanced"], "gain", 2)}

**Classifiers unlike the paper's**, trained on even class counts; their own answers leave less to correct:

{by_budget(summary["two_phase"], "gain", 2)}

## What tau learns

{notes["calibration"]}![Learned tau and accuracy per class](figures/experiments/calibration-tau-by-class-imbalanced.png)

Pearson correlation of learned tau with the classifier's accuracy per class; the paper's figure in brackets. tau of `value`
stands beside a class bias, which takes over what does not depend on the prediction.

**Classifiers trained on uneven class counts**, as the paper describes its own:

{by_budget(summary["calibration_imbalanced"], "correlation", 2)}

**Classifiers unlike the paper's**:

{by_budget(summary["calibration"], "correlation", 2)}
"""


WHY = """The importance samples are drawn from a flat proposal. Under a sharp prior (a small phi) nearly all of the likelihood is
carried by the few histograms that agree with the classifier, and these are seldom drawn. The estimate is unbiased, its
logarithm is not: it comes out too low, the more so the sharper the prior. So the fit is pulled towards a flatter prior than
the data supports, FinExp is less sure of itself, and asks more at the same threshold: at 0.9 on DenseNet (seed 3) 1.98 votes
before the shift and 3.61 after it, exact FinExp under the same prior 1.23 and 3.37. Adam with the paper's early stop is a
second difference: it ends near the optimum, not at it. The error of the estimated log likelihood of an item, by the prior:"""


QUICK = "**From a quick run: fewer items, parameter values and classifiers, one seed; not quotable.**\n\n"


def main():
    folders = [Path(name) for name in sys.argv[1:]]  # of `all`, or of the parts, that of `shift` first
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in folders]
    summary, *others = summaries
    quick = {part: found["quick"] for found in summaries for part in found["parts"]}
    for other in others:
        summary["claims"] += [claim | {"quick": other["quick"]} for claim in other["claims"]]
        summary["seconds"] |= {part: value for part, value in other["seconds"].items() if part != "files"}
        summary["runs"] = {key: value + other["runs"][key] for key, value in summary["runs"].items()}
        summary |= {key: value for key, value in other.items() if key not in summary}
    made = "Its parts were run one by one. " if others else ""
    notes = {part: QUICK if is_quick else "" for part, is_quick in quick.items()}
    (DOCS / "experiments.md").write_text(page(summary, folders[0], made, notes), encoding="utf-8")
    target = DOCS / "figures" / "experiments"
    target.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        found = next(each for each in folders if (each / "figures" / f"{name}.png").exists())
        shutil.copyfile(found / "figures" / f"{name}.png", target / f"{name}.png")
    print(f"wrote {DOCS / 'experiments.md'} and {len(FIGURES)} figures")


if __name__ == "__main__":
    main()
