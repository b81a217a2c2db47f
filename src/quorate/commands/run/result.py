"""`RunResult`: decisions, errors, costs and learned parameters, as tables, a figure, a notebook view and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.arrow import TEXT, arrow_csv, pa, pc, pq
from quorate.commands.calibration import Calibration, calibration_of
from quorate.commands.params_file import write_params
from quorate.commands.run.report import page, stretches_of
from quorate.commands.run.screen import headline
from quorate.commands.run.summary import item_errors, summarise
from quorate.commands.run.tradeoff import Tradeoff
from quorate.errors import MissingExtra
from quorate.files import Content, check_free, write_folder
from quorate.frames import TEXTS, OwnTypes, ToFrames, give_back, in_own_type
from quorate.methods import Method
from quorate.reasons import CERTAIN
from quorate.reports import render
from quorate.reports.figures import BLUE, MISSING, QUIET, RC, can_plot
from quorate.reports.format import SEPARATOR, json_page, quoted_name
from quorate.reports.section import Table
from quorate.session import history_table, tuned
from quorate.streams import Pools, ReplayResult, Swap
from quorate.tables import REJECT_COLUMNS, Report, VoteOrder, reject_tables
from quorate.types import IntArray, PriorParams

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DECISION_COLUMNS = (
    "item", "consensus_label", "confidence", "num_votes", "agreement", "stop_reason", "cost", "pool_size", "audited",
    "refuted",
)  # fmt: skip
VOTERS = "voters"  # the last column, so that those before keep their places
FILES = ("decisions.parquet", "decisions.csv", "rejects.csv", "params.json", "report.html", "summary.json")
SHOWN = 5  # decisions in a notebook


@dataclass(frozen=True, slots=True)
class Spending:
    """Costs of all votes asked, of asking until settled in recorded order, and of everybody recorded."""

    total: float
    until_settled: float
    ask_all: float


@dataclass(frozen=True, slots=True)
class PoolAgreement:
    """The share of answers for the true class that are the plurality of the pool: `rate` over `items`, ties shared."""

    items: int
    rate: float


@dataclass(frozen=True, eq=False)
class RunResult(ToFrames):
    """A finished run: `.votes_per_item`, `.error`, `.saved`, `.recall`, `.decisions`, `.save(folder)`, ...

    `outcome` what the replay did   `settings` the arguments in force   `control` how close a control came, or None
    `until_settled` (T,) votes until each pool is settled, in the same order
    `price` of a vote, or None   `vote_order` whether the votes came
    sorted by label; None if their order was not used   `swaps` columns of the predictions that look swapped
    `own` the types of ids and labels in the caller's frame   `people` the names of the voters
    `spending` in units of `price` where people differ in cost, or None   `voter_costs` of each of them, or None
    `pool_agreement` of the answers, under the target "truth"
    """

    outcome: ReplayResult
    pools: Pools
    items: tuple[str, ...]
    classes: tuple[str, ...]
    models: tuple[str, ...]
    method: Method
    settings: Mapping[str, Any]
    control: Mapping[str, Any] | None
    until_settled: IntArray
    report: Report
    tradeoff: Tradeoff
    backend: str = "pyarrow"
    own: OwnTypes = TEXTS
    price: float | None = None
    vote_order: VoteOrder | None = None
    swaps: tuple[Swap, ...] = ()
    spending: Spending | None = None
    people: tuple[str, ...] = ()
    pool_agreement: PoolAgreement | None = None
    voter_costs: tuple[float, ...] | None = None

    @cached_property
    def table(self) -> pa.Table:
        """The decisions as an Arrow table, in the order of the stream."""
        return decisions_table(self)

    @property
    def params(self) -> PriorParams:
        """The parameters learned by the end; the initial ones for a method that does not learn."""
        return self.outcome.params

    @cached_property
    def calibration(self) -> Calibration | None:
        """Is the confidence honest? None if too few answers can be compared; a score is not compared."""
        at = self.pools.is_scored & ~self.outcome.is_score
        if self.method.target == "plurality":
            at &= ~np.isin(self.outcome.reasons, CERTAIN)
        return calibration_of(self.outcome.confidence[at], 1.0 - item_errors(self)[at])

    @property
    def last_method(self) -> Method:
        """The method with its last parameter: a control may have changed it."""
        control = self.control
        return self.method if control is None else tuned(self.method, {control["parameter"]: control["last_parameter"]})

    @property
    def decisions(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """A row per item, in the order of the stream, as the same kind of table as the votes (Arrow for paths).

        Ids and labels have the types of the caller's frame.
        """
        return give_back(self.table, self.backend)

    @property
    def rejects(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """The rows set aside: source, row number, rule, reason, item, worker and value."""
        return give_back(
            pa.concat_tables([REJECT_COLUMNS.empty_table(), *reject_tables(self.report.entries)]), self.backend
        )

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return summarise(self)

    def summary(self) -> dict[str, Any]:
        """Votes, errors, costs, stops, classes, data and control as plain values: what summary.json holds."""
        return dict(self._summary)

    def to_html(self) -> str:
        """The report as one page: no scripts, nothing loaded from elsewhere."""
        return page(self)

    def plot(self) -> Figure:
        """A matplotlib figure: confidence, stop reasons, votes and errors over time."""
        return figure(self)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return headline(self._summary)

    @property
    def votes_per_item(self) -> float:
        """Votes per item, audits included."""
        return self.outcome.mean_cost

    @property
    def error(self) -> float | None:
        """The share of wrong answers over the scored items, ties shared; None if none is scored."""
        return self.tradeoff.this_run.error

    @property
    def saved(self) -> float:
        """The share of votes saved, compared with asking everybody recorded."""
        return float(self._summary["votes"]["saved_against_ask_all"])

    @property
    def recall(self) -> dict[str, float]:
        """By class: the share of its scored items that got this answer."""
        return {row["class"]: row["found"] for row in self._summary["per_class"] if row["found"] is not None}

    @property
    def history(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """A row per fit: the items closed before it, and theta, phi and tau (by class, or by model and class)."""
        outcome = self.outcome
        fits = history_table(outcome.fitted_at + 1, outcome.fits, models=self.models, classes=self.classes)
        return give_back(fits, self.backend)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the decisions, the summary, the parameters, the rejects and the report; returns the files."""
        return write_run(self, check_free(folder, overwrite=overwrite))

    def __repr__(self) -> str:
        """The run in one line."""
        return f"RunResult of {self._summary['method']['name']}: {self.headline}"

    def _repr_html_(self) -> str:
        """The headline and the first decisions, for notebooks."""
        shown = (*DECISION_COLUMNS, VOTERS)
        few = self.table.select(list(shown)).slice(0, SHOWN).to_pylist()
        left = self.table.num_rows - len(few)
        rows = tuple(tuple(map(_cell, row.values())) for row in few)
        more = f"... and {left} more items." if left else ""
        return render.fragment(self.headline, Table("", "First decisions", shown, rows, more))


def spending(pools: Pools, outcome: ReplayResult, settled: IntArray, voter_costs: tuple[float, ...]) -> Spending:
    """What the run costs if people differ in cost, and what the alternatives would cost.

    `settled` (T,) votes of each item until its pool is settled; anonymous people cost 1.
    """
    stream = pools.stream
    assert stream.voters is not None  # kept if there are costs
    unknown = np.append(np.array(voter_costs), 1.0)  # number -1 indexes the last entry
    place = np.arange(stream.votes.shape[1])
    paid = np.where(place < stream.recorded[:, None], unknown[stream.voters], 0.0)  # (T, N)
    until = np.where(place < settled[:, None], paid, 0.0)
    return Spending(float(outcome.paid.sum()), float(until.sum()), float(paid.sum()))


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)


def decisions_table(result: RunResult) -> pa.Table:
    """The decisions: the columns of `DECISION_COLUMNS`, then `prob_<class>` for every class, and `voters` last.

    An item whose audit is complete has the panel's verdict; `refuted` is the answer before it, where that was wrong.
    Under the target "truth" also `confidence_is`: "score" for the items decided before enough true classes were known.
    """
    outcome, unit = result.outcome, 1.0 if result.price is None else result.price
    cost, names = outcome.paid * unit, in_own_type(result.classes, result.own.label)
    probs = np.where(outcome.is_known[:, None], outcome.truth, outcome.probs)
    labels = np.where(outcome.is_refuted, probs.argmax(axis=1), outcome.labels)
    columns = {
        "item": in_own_type(result.items, result.own.task),
        "consensus_label": names.take(pa.array(labels)),
        "confidence": pa.array(np.where(outcome.is_known, probs[np.arange(len(labels)), labels], outcome.confidence)),
        "num_votes": pa.array(outcome.num_votes),
        "agreement": agreement(result, labels),
        "stop_reason": pa.array(outcome.reasons, type=TEXT),
        "cost": pa.array(cost),
        "pool_size": pa.array(result.pools.stream.pool_sizes),
        "audited": pa.array(outcome.is_audited),
        "refuted": names.take(pa.array(outcome.labels, mask=~outcome.is_refuted)),
    }
    for k, name in enumerate(result.classes):
        columns[f"prob_{name}"] = pa.array(probs[:, k])
    if result.method.target == "truth":
        columns["confidence_is"] = pa.array(np.where(outcome.is_score, "score", "probability"), type=TEXT)
    columns[VOTERS] = voters(result)
    return pa.table(columns)


def agreement(result: RunResult, labels: IntArray) -> pa.Array:
    """Share of the votes asked that are for these answers; null where none was asked."""
    outcome, votes = result.outcome, result.pools.stream.votes
    asked = np.arange(votes.shape[1]) < outcome.num_votes[:, None]
    agreeing = ((votes == labels[:, None]) & asked).sum(axis=1)
    share = agreeing / np.maximum(outcome.num_votes, 1)
    return pa.array(share, mask=outcome.num_votes == 0)


def voters(result: RunResult) -> pa.Array:
    """Whose votes were used for the answer, in asking order, as `names_text` writes them; null without names."""
    stream, count = result.pools.stream, result.outcome.num_votes
    if stream.voters is None:
        return pa.nulls(len(count), type=TEXT)
    numbers = stream.voters[np.arange(stream.voters.shape[1]) < count[:, None]]
    names = pa.array([quoted_name(name) for name in result.people], type=TEXT)
    asked = names.take(pa.array(numbers, mask=numbers < 0)).fill_null("")
    by_item = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(count)), type=pa.int32()), asked)
    return pc.binary_join(by_item, pa.scalar(SEPARATOR, type=TEXT))


def pool_agreement(pools: Pools, labels: IntArray) -> PoolAgreement | None:
    """The answers compared with the pools, where these are scored; None if none is."""
    if not pools.is_scored.any():
        return None
    shares = pools.truth[np.arange(len(labels)), labels][pools.is_scored]
    return PoolAgreement(len(shares), float(shares.mean()))


def figure(result: RunResult) -> Figure:
    """Four panels; shown by a notebook, or saved with `.savefig`."""
    if not can_plot():
        raise MissingExtra(MISSING)
    import matplotlib as mpl  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    with mpl.rc_context(RC):
        drawn = Figure(figsize=(9.5, 6.2), layout="constrained")
        (confidence, stops), (votes, errors) = drawn.subplots(2, 2)
        confidence.hist(result.outcome.confidence.clip(0, 1), bins=20, range=(0, 1), color=BLUE)
        confidence.set(title="Confidence of the answers", xlabel="confidence", ylabel="items")
        reasons = result.summary()["stop_reasons"]
        stops.barh(list(reasons), list(reasons.values()), color=BLUE)
        stops.set(title="Why asking stopped", xlabel="items")
        at, asked = stretches_of(result.outcome.num_votes + result.outcome.audit_votes)
        votes.plot(at, asked, color=BLUE, linewidth=2, label="this run")
        votes.plot(at, stretches_of(result.until_settled)[1], color=QUIET, linestyle=":", label="until settled")
        votes.set(title="Votes per item over time", xlabel="items", ylim=(0, None))
        votes.legend(frameon=False)
        errors.plot(at, [100 * each for each in stretches_of(item_errors(result))[1]], color=BLUE, linewidth=2)
        errors.set(title="Wrong answers over time, %", xlabel="items", ylim=(0, None))
    return drawn


def write_run(result: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write all files of a run, summary.json last: a folder that has it is complete. Other files are not touched."""
    options = arrow_csv.WriteOptions(quoting_style="needed")
    files: dict[str, Content] = {
        "decisions.parquet": lambda path: pq.write_table(result.table, path, compression="zstd"),
        "decisions.csv": lambda path: arrow_csv.write_csv(result.table, str(path), write_options=options),
        "rejects.csv": result.report.write_rejects,
        "params.json": partial(_params, result),
        "report.html": result.to_html(),
        "summary.json": json_page(result.summary()),
    }
    lost = result.tradeoff.lost
    if lost is not None and lost.table is not None:
        return write_folder(folder, {"class-costs.csv": lost.table} | {name: files[name] for name in files_of(result)})
    return write_folder(folder, {name: files[name] for name in files_of(result)})


def files_of(result: RunResult) -> tuple[str, ...]:
    """The files of a run; without params.json for methods that learn about people."""
    return tuple(name for name in FILES if name != "params.json" or not result.method.answers_by_people)


def _params(result: RunResult, path: Path) -> None:
    write_params(
        path,
        result.params,
        classes=result.classes,
        models=result.models,
        method=result.last_method,
        pool_size=result.pools.params_pool_size,
        fitted_after=result.outcome.fitted_after,
        answers_proved=result.outcome.answers_proved,
        pool_rule="largest-recorded" if result.pools.pool_size is None else "given",
        min_votes=result.settings["min_votes"],
        max_votes=result.settings["max_votes"],
        abstain_labels=result.settings["abstain_labels"],
    )
