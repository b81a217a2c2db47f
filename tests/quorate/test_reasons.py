"""One vocabulary: every reason has its sentence and its short form, and codes of rules name reasons."""

from quorate.model.decision.belief import STOP_REASONS
from quorate.reasons import CERTAIN, REASONS, SENTENCES, SHORT


def test_every_reason_is_explained_once():
    assert tuple(SENTENCES) == tuple(SHORT) == REASONS
    assert len(set(SENTENCES.values())) == len(set(SHORT.values())) == len(REASONS)


def test_codes_and_certain_reasons_are_reasons():
    assert set(STOP_REASONS.values()) | set(CERTAIN) <= set(REASONS)
