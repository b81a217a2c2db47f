"""quorate decides, online, when enough experts have been asked.

votes + prediction -> prior/ -> posterior/ -> decision/ -> session/ (journal) -> learning/ -> back to prior/

A live loop: `Session`, `method`, `JsonlJournal`. The maths alone: `concentration`, `plurality_finite`,
`plurality_infinite`, `fit`, `PriorParams`. Recorded streams: `simulate`, `VoteDataset`, `quorate.datasets`.
"""

from quorate.errors import QuorateError
from quorate.learning.fit import fit
from quorate.methods import METHODS, Method, method
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.prior.concentration import concentration
from quorate.prior.hyperprior import Hyperprior
from quorate.session import JsonlJournal, MemoryJournal, Session, read_journal
from quorate.simulation import Simulation, simulate
from quorate.types import Decision, FitReport, Item, PriorParams, VoteDataset
from quorate.version import __version__

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
    "plurality_finite",
    "plurality_infinite",
    "read_journal",
    "simulate",
]
