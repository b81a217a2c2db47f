"""quorate decides, online, when enough experts have been asked.

votes + prediction -> prior/ -> posterior/ -> decision/ -> session/ (journal) -> learning/ -> back to prior/

A live loop: `Session`, `method`, `JsonlJournal`. The maths alone: `concentration`, `plurality_finite`,
`plurality_infinite`, `fit`, `PriorParams`. Recorded streams: `simulate`, `VoteDataset`, `quorate.datasets`.
Your own tables: `run`, and `plan` for the next batch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quorate.errors import QuorateError
from quorate.learning.fit import fit
from quorate.methods import METHODS, Method, method
from quorate.moved import install as _install_moved
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.prior.concentration import concentration
from quorate.prior.hyperprior import Hyperprior
from quorate.session import JsonlJournal, MemoryJournal, Session, read_journal
from quorate.streams import Simulation, simulate
from quorate.types import Decision, FitReport, Item, PriorParams, VoteDataset
from quorate.version import __version__

if TYPE_CHECKING:  # the whole signature, for editors; at run time it is imported on call, which keeps this import light
    from quorate.workflows.plan import plan
    from quorate.workflows.run import run
else:

    def plan(votes: Any, predictions: Any = None, **options: Any) -> Any:  # noqa: ANN401
        """What to do with the next batch, from a pilot of recorded votes: a setting, and how sure it is.

        `votes`, `predictions` and how to read them: as `run` takes them. Options: target_error or budget, sureness,
        methods, pool_size, partly_voted, error_costs, price, batch_size, level, orderings, draws, seed, strict, out,
        overwrite, progress (docs/plan.md). Gives a result with `.advice`, `.headline()`, `.command()`, `.notes()`,
        `.summary()`, `.plot()` and `.to_html()`. Needs `pip install 'quorate[tables]'`.
        """
        workflow = import_module("quorate.workflows.plan")  # needs PyArrow, an extra
        return workflow.plan(votes, predictions, **options)

    def run(votes: Any, predictions: Any = None, **options: Any) -> Any:  # noqa: ANN401
        """Replay recorded votes as a stream, asking only as far as a method would, and decide every item.

        `votes`, `predictions`: paths, pandas, polars or PyArrow tables, or arrays; several classifiers are a list.
        Options: method, threshold, target_error, class_targets, sureness, budget, order, seed, pool_size, partly_voted,
        min_votes, max_votes, error_costs, price, strict, window, refit_every, audit_rate, audit_focus, control_speed,
        out, overwrite, progress, and how to read the tables: task, worker, label, timestamp, format, classes,
        id_column, ids, accuracy, items, abstain_labels, ignore_columns, as_read (docs/run.md).
        Gives a result with `.decisions`, `.summary()`, `.plot()`, `.to_html()`, `.params` and `.rejects`.
        Needs `pip install 'quorate[tables]'`.
        """
        workflow = import_module("quorate.workflows.run")  # needs PyArrow, an extra
        return workflow.run(votes, predictions, **options)


_install_moved()

__all__ = [
    "METHODS",
    "Decision",
    "FitReport",
    "Hyperprior",
    "Item",
    "JsonlJournal",
    "MemoryJournal",
    "Method",
    "PriorParams",
    "QuorateError",
    "Session",
    "Simulation",
    "VoteDataset",
    "__version__",
    "concentration",
    "fit",
    "method",
    "plan",
    "plurality_finite",
    "plurality_infinite",
    "read_journal",
    "run",
    "simulate",
]
