"""Live loops around a session: you pass a function that asks one expert; the loop asks until the method stops.

`decide_all` (plain), `adecide_all` (asyncio), `Judge` and `Jury` (experts with a name and a price), `Panel` (one
question at a time) and `ConsensusClassifier` (fit, predict and score as in scikit-learn, which it needs).
"""

from typing import TYPE_CHECKING, Any

from quorate.errors import MissingExtra
from quorate.live.judges import ABSTAIN, Answer, Judge, Jury
from quorate.live.loop import adecide_all, decide_all
from quorate.live.panel import Panel
from quorate.live.results import Act, LiveResult, Outcome
from quorate.live.work_list import AskFailed

if TYPE_CHECKING:
    from quorate.live.estimator import ConsensusClassifier

__all__ = [
    "ABSTAIN",
    "Act",
    "Answer",
    "AskFailed",
    "ConsensusClassifier",
    "Judge",
    "Jury",
    "LiveResult",
    "Outcome",
    "Panel",
    "adecide_all",
    "decide_all",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name != "ConsensusClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from quorate.live.estimator import ConsensusClassifier  # noqa: PLC0415 - imports scikit-learn
    except ImportError as cause:
        raise MissingExtra("scikit-learn is not installed: pip install 'quorate[sklearn]'") from cause
    return ConsensusClassifier
