"""quorate decides, online, when enough experts have been asked.

votes + prediction -> prior -> posterior/ -> decision/ -> session/ (journal) -> learning/ -> back to prior

A live loop: `Session`, `method`, `JsonlJournal`; with people known by name also `Expert` and rules about
people. The maths alone: `concentration`, `plurality_finite`, `plurality_infinite`, `fit`, `PriorParams`. Recorded
streams: `simulate`, `compare`, `VoteDataset`, `quorate.datasets`.
Your own tables: `run`, `score`, and `plan` for the next batch; `draw_audit` and `report_audit` for how
many answers can be wrong; `rate_experts` and `agreement` for the people behind the votes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from quorate.errors import QuorateError
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.experts.person import Expert
    from quorate.experts.rules import (
        CountAtMost,
        DailyLimit,
        MustConfirm,
        NeverTogether,
    )
    from quorate.learning.fit import fit
    from quorate.methods import METHODS, Method, method
    from quorate.posterior.finite import plurality_finite
    from quorate.posterior.infinite import plurality_infinite
    from quorate.prior import Hyperprior, concentration
    from quorate.session import JsonlJournal, MemoryJournal, NextExpert, Session, read_journal
    from quorate.streams.control import BudgetControl
    from quorate.streams.simulate import Simulation, simulate
    from quorate.streams.target_error import TargetErrorControl
    from quorate.types import Decision, FitReport, Item, PriorParams, VoteDataset
    from quorate.workflows.audit import draw_audit, report_audit
    from quorate.workflows.compare import Comparison, compare
    from quorate.workflows.experts import agreement, rate_experts
    from quorate.workflows.plan import plan
    from quorate.workflows.run import run
    from quorate.workflows.score import score

_ON_FIRST_USE = {  # name -> module, imported when the name is first used, so that `quorate --help` starts fast
    "METHODS": "quorate.methods",
    "BudgetControl": "quorate.streams.control",
    "CountAtMost": "quorate.experts.rules",
    "DailyLimit": "quorate.experts.rules",
    "Decision": "quorate.types",
    "Expert": "quorate.experts.person",
    "FitReport": "quorate.types",
    "Hyperprior": "quorate.prior",
    "Item": "quorate.types",
    "JsonlJournal": "quorate.session",
    "MemoryJournal": "quorate.session",
    "Method": "quorate.methods",
    "MustConfirm": "quorate.experts.rules",
    "NeverTogether": "quorate.experts.rules",
    "NextExpert": "quorate.session",
    "PriorParams": "quorate.types",
    "Session": "quorate.session",
    "Simulation": "quorate.streams.simulate",
    "TargetErrorControl": "quorate.streams.target_error",
    "VoteDataset": "quorate.types",
    "agreement": "quorate.workflows.experts",
    "draw_audit": "quorate.workflows.audit",
    "concentration": "quorate.prior",
    "fit": "quorate.learning.fit",
    "method": "quorate.methods",
    "plan": "quorate.workflows.plan",
    "rate_experts": "quorate.workflows.experts",
    "report_audit": "quorate.workflows.audit",
    "plurality_finite": "quorate.posterior.finite",
    "plurality_infinite": "quorate.posterior.infinite",
    "read_journal": "quorate.session",
    "run": "quorate.workflows.run",
    "score": "quorate.workflows.score",
    "simulate": "quorate.streams.simulate",
    "Comparison": "quorate.workflows.compare",
    "compare": "quorate.workflows.compare",
}
_MODULES = (
    "datasets",
    "decision",
    "densities",
    "learning",
    "methods",
    "posterior",
    "prior",
    "session",
    "streams",
    "types",
)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"quorate.{name}")
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    value: object = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "METHODS",
    "BudgetControl",
    "Comparison",
    "CountAtMost",
    "DailyLimit",
    "Decision",
    "Expert",
    "FitReport",
    "Hyperprior",
    "Item",
    "JsonlJournal",
    "MemoryJournal",
    "Method",
    "MustConfirm",
    "NeverTogether",
    "NextExpert",
    "PriorParams",
    "QuorateError",
    "Session",
    "Simulation",
    "TargetErrorControl",
    "VoteDataset",
    "__version__",
    "agreement",
    "compare",
    "concentration",
    "draw_audit",
    "fit",
    "method",
    "plan",
    "plurality_finite",
    "plurality_infinite",
    "rate_experts",
    "read_journal",
    "report_audit",
    "run",
    "score",
    "simulate",
]
