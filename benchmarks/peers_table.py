"""Curves of all methods on the streams of one set -> rows of a table: errors at equal cost, areas, differences.

Every stream's curve is read at shares of its until-settled cost; streams with the same items are averaged item by item
before the standard error is computed, so an item counts once. Called by `peers.py`; pure.
"""

from __future__ import annotations

import math

import numpy as np

SHARES = (0.15, 0.30, 0.50, 0.70)
AREA = np.linspace(0.05, 0.90, 18)  # of the until-settled cost
CLEAR = 2.0


def item_errors(cases, curves, share):
    """(items,) expected error of one method at a share of the until-settled cost, mean over the streams of an item."""
    rows = np.concatenate([case.stream.items for case in cases])
    found = [each.at(share * case.settled.mean_cost).influence for case, each in zip(cases, curves, strict=True)]
    return np.bincount(rows, weights=np.concatenate(found)) / np.bincount(rows)


def mean_se(values):
    """Mean and standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def ratio_se(theirs, ours):
    """Ratio of means with its standard error (delta method), items paired."""
    ratio = theirs.mean() / ours.mean()
    return float(ratio), mean_se(theirs - ratio * ours)[1] / float(ours.mean())


def row(cases, curves, ours):
    """One method: error at each share, its difference from ours with the standard error, and the ratio of areas."""
    at = [(item_errors(cases, curves, share), item_errors(cases, ours, share)) for share in SHARES]
    areas = [np.mean([item_errors(cases, each, share) for share in AREA], axis=0) for each in (curves, ours)]
    return {
        "errors": [float(theirs.mean()) for theirs, _ in at],
        "differences": [mean_se(theirs - own) for theirs, own in at],
        "area": ratio_se(*areas),
        "parameters": len(curves[0].runs),
    }


def markdown(title, rows, ours="value"):
    """The table of one set. `rows`: name -> `row(...)` with "speed" added."""
    heads = " | ".join(f"error at {100 * share:.0f} %" for share in SHARES)
    head = f"| method | values | {heads} | area to {ours} | items a second | speed to {ours} |"
    lines = [f"### {title}", "", head]
    lines.append("|---|" + "---:|" * (len(SHARES) + 4))
    for name, each in rows.items():
        pairs = zip(each["errors"], each["differences"], strict=True)
        cells = [_error(error, *gap) if name != ours else f"{100 * error:.2f}" for error, gap in pairs]
        area = "1" if name == ours else f"{each['area'][0]:.2f} ± {each['area'][1]:.2f}"
        speed = f"{_one_digit(each['speed'])} | {_ratio(each['speed'] / rows[ours]['speed'])}"
        lines.append(f"| {name} | {each['parameters']} | {' | '.join(cells)} | {area} | {speed} |")
    return "\n".join(lines)


def _error(error, difference, spread):
    return f"{100 * error:.2f} ({100 * difference:+.2f} ± {100 * spread:.2f})"


def _ratio(value):
    return f"1/{_one_digit(1 / value)}" if value < 0.5 else _one_digit(value)


def _one_digit(value):
    """A speed rounded to its accuracy of one digit: 43132 is 40,000, 0.74 is 0.7."""
    rounded = float(f"{value:.0e}")
    return f"{rounded:,.0f}" if rounded >= 1 else f"{rounded:g}"


def losses(rows, ours="value"):
    """A sentence for every budget at which a peer errs less than quorate, and whether the difference is significant."""
    sentences = []
    for name, each in rows.items():
        for share, (difference, spread) in zip(SHARES, each["differences"], strict=True):
            if name != ours and difference < 0:
                sure = "beyond chance" if difference < -CLEAR * spread else "within the error of this run"
                sentences.append(
                    f"{name} errs less than {ours} at {100 * share:.0f} % of the until-settled cost, by "
                    f"{-100 * difference:.2f} points ({sure}: standard error {100 * spread:.2f})."
                )
    return sentences or [f"No peer errs less than {ours} at any of the four budgets."]
