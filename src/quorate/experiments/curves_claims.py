"""What must hold of the curves, and whether it does. Called by `curves`.

Differences between two methods are paired: the same streams (classifiers and seeds), at the same shares of what asking
until settled costs; standard errors are over seeds, the classifiers being fixed (`readings.seeds_se`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.experiments.curves_tables import groups, mean_ratio
from quorate.experiments.panels import Panel
from quorate.experiments.readings import HIGH, LOW, seeds_se
from quorate.experiments.section import Claim
from quorate.types import FloatArray

SHARES = np.linspace(LOW, HIGH, 18)
RIVALS = ("random", "entropy", "mp", "mp-released")
LIMITS = (("imagenet16h_shift", 6, 0.88), ("cifar10h", 10, 0.97), ("chaosnli", 100, 0.95))
NOWHERE_ABOVE = 1.02
WELL_BELOW = 0.9  # of a baseline's area
APART = 0.5  # of RANDOM's area, where FinExp is said not to meet it


def claims(panels: Sequence[Panel], *, dense: bool = True) -> tuple[Claim, ...]:
    """All claims the panels at hand can answer; those on areas need a dense grid, or the ratio is one of gaps."""
    single = [panel for panel in panels if panel.model != "all"]
    found = []
    for pool_size in sorted({panel.pool_size for panel in single if panel.family == "imagenet16h"}):
        some = [panel for panel in single if panel.family == "imagenet16h" and panel.pool_size == pool_size]
        found += [_nowhere_above(some, method) for method in ("infexp", "finexp")]
    found += [_apart(some) for some in _of(single, "cifar10h", 50)]
    for family, pool_size, limit in LIMITS if dense else ():
        found += [_at_most(some, limit) for some in _of(single, family, pool_size)]
    if single and dense:
        found.append(_never_much_worse(single))
    return tuple(found)


def _of(panels: Sequence[Panel], family: str, pool_size: int) -> list[list[Panel]]:
    some = [panel for panel in panels if panel.family == family and panel.pool_size == pool_size]
    return [some] if some else []


def paired(panels: Sequence[Panel], ours: str, theirs: str) -> tuple[FloatArray, FloatArray]:
    """(B,) mean and standard error of error(ours) - error(theirs) at `SHARES`, over all streams."""
    streams = np.concatenate([panel.errors_at(ours, SHARES) - panel.errors_at(theirs, SHARES) for panel in panels])
    classifiers = [panel.model for panel in panels for _ in panel.until_settled]
    return streams.mean(axis=0), seeds_se(streams, classifiers)


def _nowhere_above(panels: Sequence[Panel], method: str) -> Claim:
    worst, holds, areas = [], True, {}
    for rival in RIVALS:
        mean, error = paired(panels, method, rival)
        above = mean > 2 * np.nan_to_num(error) + 1e-12
        holds = holds and not above.any()
        at = int(np.argmax(mean))
        worst.append(f"{rival} {100 * mean[at]:+.2f} points at {100 * SHARES[at]:.0f} %")
        areas[rival] = float(np.concatenate([panel.inner_ratios(method, rival) for panel in panels]).mean())
    return Claim(
        text=f"{panels[0].name}: {method} is nowhere above RANDOM, ENTROPY or MP by more than 2 paired standard errors "
        f"between 5 and 90 % of the until-settled cost, and has at most {WELL_BELOW:g} of their area.",
        holds=holds and max(areas.values()) <= WELL_BELOW,
        measured=f"Largest difference to {'; '.join(worst)}. Area relative to "
        + ", ".join(f"{rival} {ratio:.2f}" for rival, ratio in areas.items())
        + ".",
    )


def _apart(panels: Sequence[Panel]) -> Claim:
    mean, error = paired(panels, "finexp", "random")
    ratio = np.concatenate([panel.inner_ratios("finexp", "random") for panel in panels])
    closest = int(np.argmax(mean))
    return Claim(
        text=f"{panels[0].name}: FinExp no longer meets RANDOM (in the paper it does): it is below at every budget "
        f"from 5 to 90 % of the until-settled cost, with less than {APART:g} of the area.",
        holds=bool(np.all(mean < 0) and ratio.max() < APART),
        measured=f"Area relative to RANDOM {ratio.mean():.2f} (at most {ratio.max():.2f}); FinExp is below RANDOM by "
        f"at least {-100 * mean[closest]:.2f} points{_give_or_take(error[closest])} at every budget.",
    )


def _give_or_take(error: float) -> str:
    """Its standard error in words; nothing where a single stream has none."""
    return "" if np.isnan(error) else f" (standard error {100 * error:.2f})"


def _at_most(panels: Sequence[Panel], limit: float) -> Claim:
    (common, se), (inner, inner_se) = mean_ratio(panels, "quorate"), mean_ratio(panels, "quorate", inner=True)
    return Claim(
        text=f"{panels[0].name}: quorate's area is at most {limit:g} of FinExp's.",
        holds=common <= limit,
        measured=f"{common:.3f} (standard error {se:.3f}) over the common range of costs; {inner:.3f} ({inner_se:.3f}) "
        "between 5 and 90 % of the until-settled cost.",
    )


def _never_much_worse(panels: Sequence[Panel]) -> Claim:
    ratios = {name: mean_ratio(some, "quorate")[0] for name, some in groups(panels).items()}
    by_model = {(panel.name, panel.model): float(panel.ratios("quorate").mean()) for panel in panels}
    (where, model), most = max(by_model.items(), key=lambda pair: pair[1])
    top = max(ratios, key=lambda name: ratios[name])
    return Claim(
        text=f"quorate's area is nowhere above {NOWHERE_ABOVE:g} of FinExp's: with no data, pool and classifier.",
        holds=most <= NOWHERE_ABOVE,
        measured=f"Largest mean of a data set and pool size: {ratios[top]:.3f} ({top}); of a single classifier: "
        f"{most:.3f} ({where}, {model}).",
    )
