"""A run as one matplotlib figure: confidence, stops, votes and errors over time. Called by `RunResult.plot`.

Needs matplotlib, an extra; the page draws its own charts and does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quorate.errors import MissingExtra
from quorate.workflows.plots import BLUE, MISSING, QUIET, RC, can_plot
from quorate.workflows.run_report import stretches_of
from quorate.workflows.run_summary import item_errors

if TYPE_CHECKING:
    from quorate.workflows.run_result import RunResult


def figure(result: RunResult) -> Any:  # noqa: ANN401
    """Four panels; shown by a notebook, or saved with `.savefig`."""
    if not can_plot():
        raise MissingExtra(MISSING)
    import matplotlib as mpl  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(RC):
        drawn = Figure(figsize=(9.5, 6.2), layout="constrained")
        (confidence, stops), (votes, errors) = drawn.subplots(2, 2)
        confidence.hist(result.outcome.confidence.clip(0, 1), bins=20, range=(0, 1), color=BLUE)
        confidence.set(title="Confidence of the answers", xlabel="confidence", ylabel="items")
        reasons = result.summary()["stop_reasons"]
        stops.barh(list(reasons), list(reasons.values()), color=BLUE)
        stops.set(title="Why the asking stopped", xlabel="items")
        at, asked = stretches_of(result.outcome.num_votes + result.outcome.audit_votes)
        votes.plot(at, asked, color=BLUE, linewidth=2, label="this run")
        votes.plot(at, stretches_of(result.until_settled)[1], color=QUIET, linestyle=":", label="until settled")
        votes.set(title="Votes per item over time", xlabel="items", ylim=(0, None))
        votes.legend(frameon=False)
        errors.plot(at, [100 * each for each in stretches_of(item_errors(result))[1]], color=BLUE, linewidth=2)
        errors.set(title="Wrong answers over time, %", xlabel="items", ylim=(0, None))
    return drawn
