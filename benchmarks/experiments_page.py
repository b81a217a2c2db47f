"""Writes docs/experiments.md from the folder of a full reproduction; every number on the page is in its summary.json.

    quorate reproduce all --out quorate-reproduction
    python benchmarks/experiments_page.py quorate-reproduction [summary.json of the timed run]

Also copies the figures of the page. Run by `make docs-experiments`.
"""

# ruff: noqa: E501  (the page is text)

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = ("shift-curves", "shift-orderings", "curves-cifar10h-10", "curves-imagenet16h-6",
           "calibration-tau-by-class-imbalanced")  # fmt: skip
LABELS = {
    "random": "RANDOM", "entropy": "ENTROPY", "mp": "MP as described", "mp-released": "MP as released",
    "fixed-finexp": "Fix-FinExp", "fixed-infexp": "Fix-InfExp", "fixed-ask-finexp": "Fix-FinExp (asks)",
    "fixed-ask-infexp": "Fix-InfExp (asks)", "finexp": "FinExp", "infexp": "InfExp", "value": "value",
    "value-all": "quorate, all five", "fused": "quorate, all five",
}  # fmt: skip
SETS = {"cifar10h": "CIFAR-10H", "imagenet16h": "ImageNet-16H", "imagenet16h_shift": "ImageNet-16H shift",
        "chaosnli": "ChaosNLI"}  # fmt: skip


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def label(method):
    return LABELS.get(method, method)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def claims(summary, *, of_paper):
    found = sorted(
        (claim for claim in summary["claims"] if claim["of_paper"] == of_paper), key=lambda claim: claim["holds"]
    )
    return "\n".join(
        f"- {'✓' if claim['holds'] else '✗'} {claim['text']} Measured: {claim['measured']}" for claim in found
    )


def held(summary, *, of_paper):
    found = [claim["holds"] for claim in summary["claims"] if claim["of_paper"] == of_paper]
    return f"{sum(found)} of {len(found)}"


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


def shift(summary, grouping, *, judged):
    cells = {
        (row["method"], row["budget"], row["phase"]): row
        for row in summary["shift_table"] if row["grouping"] == grouping
    }  # fmt: skip
    budgets = sorted({budget for _, budget, _ in cells})
    methods = list(dict.fromkeys(method for method, _, _ in cells))
    heads = ("method", *(f"{budget:g} {phase}" for budget in budgets for phase in ("pre", "post")))
    return table(heads, [
        (label(method), *(_cell(cells[method, budget, phase], judged) for budget in budgets for phase in ("pre", "post")))
        for method in methods
    ])  # fmt: skip


def _cell(row, judged):
    if not judged:
        return number(row["ours"], 1)
    paper = "" if row["paper"] is None else f" ({number(row['paper'], 1)})"
    mark = "" if row.get("verdict") != "not reproduced" else " ✗"
    return f"{number(row['ours'], 1)}{paper}{mark}"


def by_budget(rows, value, digits):
    budgets = sorted({row["budget"] for row in rows})
    cells = {(row["model"], row["method"], row["budget"]): row for row in rows}
    pairs = list(dict.fromkeys((row["model"], row["method"]) for row in rows))
    out = []
    for model, method in pairs:
        texts = []
        for budget in budgets:
            row = cells.get((model, method, budget))
            paper = f" ({number(row['paper'], digits)})" if row and row.get("paper") is not None else ""
            texts.append("–" if row is None else f"{number(row[value], digits)} ± {number(row['se'], digits)}{paper}")
        out.append((model, label(method), *texts))
    return table(("classifier", "method", *(f"{budget:g} votes" for budget in budgets)), out)


def page(summary, timed):
    seconds = timed["seconds"]
    verdicts = summary["verdicts"]["shift-pre-shift-cost"]
    return f"""# Reproducing the paper

`quorate reproduce all` repeats every experiment of *Bayesian Online Learning for Consensus Prediction* on the
real votes and compares each table with the paper's figures. This page is written by
`python benchmarks/experiments_page.py quorate-reproduction` from such a run (seeds {", ".join(map(str, summary["seeds"]))};
quorate {summary["version"]}). [How to get the data](data.md); [on several machines](cluster.md).

```
quorate reproduce all --out quorate-reproduction      # everything; open quorate-reproduction/report.html
quorate reproduce shift --quick                       # one part, a quick run
```

You can stop or kill it at any time, and it continues where it stopped: each result is stored under a hash of its design,
its data and the code. The results are the same for any number of jobs, here or on a cluster.

Curves on CIFAR-10H with 50 experts use the first two seeds: the pool is everybody there, and a seed only changes the order. Lines of
fused classifiers have 13 error costs instead of 25, except on the shift set. `confidence` in runs.csv is the mean of every
tenth item, and of the first fiftieth of the items without experts.

On two shared cores it took {seconds["total"] / 60:.1f} minutes ({", ".join(f"{part} {value:.0f} s" for part, value in seconds.items() if part != "total")}):
{timed["runs"]["run"]} runs computed, {timed["runs"]["per_second"]:.0f} per second, in {timed["runs"]["core_seconds"]:.0f} s of CPU, and {timed["runs"]["from_store"]} that parts share or that were stored before.
The authors report about four days of GPUs.

## Results

{held(summary, of_paper=True)} claims of the paper hold, on its data and on classifiers trained as it describes. Of the {sum(verdicts.values())} cells of the shift table that
the paper prints too (its MP figures are compared with both readings of MP), {verdicts.get("agrees", 0)} agree, {verdicts.get("better", 0)} are better and
{verdicts.get("not reproduced", 0)} are not reproduced.

### Claims of the paper

{claims(summary, of_paper=True)}

### Targets of our own, and classifiers unlike the paper's

{held(summary, of_paper=False)} hold.

{claims(summary, of_paper=False)}

{WHY}

## Error-cost curves

![Error against votes per item on CIFAR-10H with ten experts, a panel for each classifier](figures/experiments/curves-cifar10h-10.png)

![Error against votes per item on ImageNet-16H with six experts](figures/experiments/curves-imagenet16h-6.png)

Area under the error-cost curve relative to exact FinExp with a threshold, mean over classifiers and seeds; below 1 is
better. "All" is the whole range of costs both methods reach, from never asking on; "5–90 %" of the cost of asking until
settled. The tie floor is not subtracted.

{ratios(summary)}

## Distribution shift

![Mean error before and after the shift against votes per item, all methods](figures/experiments/shift-curves.png)

Error in percent before and after the shift, five classifiers and all seeds; the paper's figure in brackets, ✗ where it
is not reproduced (neither within 2 points or 3 combined standard errors, nor better).

**Matched on votes per item before the shift**, which is what the printed figures match:

{shift(summary, "pre-shift cost", judged=True)}

**Matched on votes per item over the whole stream**, the fair comparison between methods (the printed figures do not fit
this grouping: see above):

{shift(summary, "whole-stream cost", judged=False)}

The printed MP figures are those of the released code, which asks by 1 − max f (`mp-released`); `mp` is
the method as described in the paper; the table shows where it differs from the printed figures.

![Error over time through the shift, mean of 100 orderings with 95 % bands](figures/experiments/shift-orderings.png)

## Two phases: learn from experts, then answer without them

Points of accuracy gained over the classifier alone on CIFAR-10H after 1000 items with experts (pool of 50); the paper's
figure for its classifier of the nearest accuracy in brackets.

**Classifiers trained on uneven class counts**, as the paper describes its own:

{by_budget(summary["two_phase_imbalanced"], "gain", 2)}

**Classifiers unlike the paper's**, trained on even class counts; their own answers leave less to correct:

{by_budget(summary["two_phase"], "gain", 2)}

## What tau learns

![Learned tau and accuracy per class](figures/experiments/calibration-tau-by-class-imbalanced.png)

Pearson correlation of learned tau with the classifier's accuracy per class; the paper's figure in brackets.

**Classifiers trained on uneven class counts**, as the paper describes its own:

{by_budget(summary["calibration_imbalanced"], "correlation", 2)}

**Classifiers unlike the paper's**:

{by_budget(summary["calibration"], "correlation", 2)}
"""


WHY = """**Areas.** At a fixed budget in the middle the gain of `value` over FinExp is larger than these ratios (see the shift
tables below). An area over *all* budgets also includes the range next to never asking, where every method equals the
classifier, and the range at the tie floor, where none can gain; both move the ratio towards 1, so a ratio depends on the
range. Both ranges are printed. On CIFAR-10H the class bias loses some of what the rule gains: its classifiers have little
bias between classes to correct.

**Fusing.** Against FinExp with the best single classifier all five gain more; `value` with the best single one is itself
better than FinExp, so less remains to gain.

**Two phases and tau.** Parameters fitted to every vote of every item would hardly gain on three of the four classifiers
used here: if a classifier has no bias between classes, there is nothing for tau to correct. The paper's classifiers were trained
on imbalanced classes."""


def main():
    folder = Path(sys.argv[1])
    summary = json.loads((folder / "summary.json").read_text())
    timed = json.loads(Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else summary
    (DOCS / "experiments.md").write_text(page(summary, timed), encoding="utf-8")
    target = DOCS / "figures" / "experiments"
    target.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        shutil.copyfile(folder / "figures" / f"{name}.png", target / f"{name}.png")
    print(f"wrote {DOCS / 'experiments.md'} and {len(FIGURES)} figures")


if __name__ == "__main__":
    main()
