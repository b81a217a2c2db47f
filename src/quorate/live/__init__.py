"""Live loops around a session: you pass a function that asks one expert; the loop asks until the method stops.

`decide_all` (plain), `adecide_all` (asyncio), `Judge` and `Jury` (experts with a name and a price), `Panel` (one
question at a time) and `ConsensusClassifier` (fit, predict and score as in scikit-learn).
"""

from quorate.live.estimator import ConsensusClassifier
from quorate.live.judges import ABSTAIN, Answer, Judge, Jury
from quorate.live.loop import adecide_all, decide_all
from quorate.live.panel import Panel
from quorate.live.report import JudgeFigures, JuryReport, jury_report
from quorate.live.results import Act, LiveResult, Outcome
from quorate.live.work_list import AskFailed

__all__ = [
    "ABSTAIN",
    "Act",
    "Answer",
    "AskFailed",
    "ConsensusClassifier",
    "Judge",
    "JudgeFigures",
    "Jury",
    "JuryReport",
    "LiveResult",
    "Outcome",
    "Panel",
    "adecide_all",
    "decide_all",
    "jury_report",
]
