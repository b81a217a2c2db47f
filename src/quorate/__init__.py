"""quorate decides, online, when enough experts have been asked.

votes + prediction -> prior/ -> posterior/ -> decision/ -> session/ (journal) -> learning/ -> back to prior/

A live loop: `Session`, `method`, `JsonlJournal`. The maths alone: `concentration`, `plurality_finite`,
`plurality_infinite`, `fit`, `PriorParams`. Recorded streams: `simulate`, `VoteDataset`, `quorate.datasets`.
Your own tables: `run`, `score`, `calibrate`, and `plan` for the next batch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from quorate.live import ConsensusClassifier
    from quorate.streams.control import BudgetControl
    from quorate.streams.target_error import TargetErrorControl
    from quorate.workflows.calibrate import calibrate
    from quorate.workflows.plan import plan
    from quorate.workflows.run import run
    from quorate.workflows.score import score

_ON_FIRST_USE = {  # name -> module; imported when first used: most need an extra, and importing quorate stays quick
    "BudgetControl": "quorate.streams.control",
    "ConsensusClassifier": "quorate.live",
    "TargetErrorControl": "quorate.streams.target_error",
    "calibrate": "quorate.workflows.calibrate",
    "plan": "quorate.workflows.plan",
    "run": "quorate.workflows.run",
    "score": "quorate.workflows.score",
}


def __getattr__(name: str) -> object:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    value: object = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


_install_moved()

__all__ = [
    "METHODS",
    "BudgetControl",
    "ConsensusClassifier",
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
    "TargetErrorControl",
    "VoteDataset",
    "__version__",
    "calibrate",
    "concentration",
    "fit",
    "method",
    "plan",
    "plurality_finite",
    "plurality_infinite",
    "read_journal",
    "run",
    "score",
    "simulate",
]
