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
    from quorate.commands.audit import draw_audit, report_audit
    from quorate.commands.compare import Comparison, compare
    from quorate.commands.experts import agreement, rate_experts
    from quorate.commands.plan import plan
    from quorate.commands.run import run
    from quorate.commands.score import score
    from quorate.methods import METHODS, Method, method
    from quorate.model import Hyperprior, concentration, fit, plurality_finite, plurality_infinite
    from quorate.people import CountAtMost, DailyLimit, Expert, MustConfirm, NeverTogether
    from quorate.session import JsonlJournal, MemoryJournal, NextExpert, Session, read_journal
    from quorate.streams import BudgetControl, Simulation, TargetErrorControl
    from quorate.streams.simulation import simulate  # mypy finds it twice in the door
    from quorate.types import Decision, FitReport, Item, PriorParams, VoteDataset

_ON_FIRST_USE = {  # name -> module, imported when the name is first used, so that `quorate --help` starts fast
    "METHODS": "quorate.methods",
    "BudgetControl": "quorate.streams",
    "CountAtMost": "quorate.people",
    "DailyLimit": "quorate.people",
    "Decision": "quorate.types",
    "Expert": "quorate.people",
    "FitReport": "quorate.types",
    "Hyperprior": "quorate.model",
    "Item": "quorate.types",
    "JsonlJournal": "quorate.session",
    "MemoryJournal": "quorate.session",
    "Method": "quorate.methods",
    "MustConfirm": "quorate.people",
    "NeverTogether": "quorate.people",
    "NextExpert": "quorate.session",
    "PriorParams": "quorate.types",
    "Session": "quorate.session",
    "Simulation": "quorate.streams",
    "TargetErrorControl": "quorate.streams",
    "VoteDataset": "quorate.types",
    "agreement": "quorate.commands.experts",
    "draw_audit": "quorate.commands.audit",
    "concentration": "quorate.model",
    "fit": "quorate.model",
    "method": "quorate.methods",
    "plan": "quorate.commands.plan",
    "rate_experts": "quorate.commands.experts",
    "report_audit": "quorate.commands.audit",
    "plurality_finite": "quorate.model",
    "plurality_infinite": "quorate.model",
    "read_journal": "quorate.session",
    "run": "quorate.commands.run",
    "score": "quorate.commands.score",
    "simulate": "quorate.streams",
    "Comparison": "quorate.commands.compare",
    "compare": "quorate.commands.compare",
}
_MODULES = (
    "datasets",
    "methods",
    "model",
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
