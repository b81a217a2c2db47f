"""The sentences: every number is in them, never rounded below the bound, and none is claimed if nothing is proved."""

import re

import pytest

from quorate.audit import AuditCounts, BatchBound, Bound, batch_sentence, running_sentence

TALLY = AuditCounts(
    num_items=4000, num_settled=1600, num_audited=240, num_wrong=3.5, num_incomplete=2, settled_loss=1.5
)


def test_too_few_audits_are_said_and_no_bound_is_claimed():
    sentence = running_sentence(TALLY, Bound(0.1, 4000, 3900, 30.0, False))
    assert sentence.startswith("Not enough audits yet")
    assert "at most" not in sentence
    assert "90 %" in sentence


@pytest.mark.parametrize("total", [0.0, 0.1, 1.0, 1.23, 40.0, 40.04, 99.999, 108.21])
def test_what_is_printed_is_never_below_the_bound_and_hardly_above(total):
    sentence = running_sentence(TALLY, Bound(0.05, 4000, total, 1.0, True))
    share = float(re.search(r"at most ([\d.]+) %", sentence).group(1))
    count = float(re.search(r"\(([\d.]+) of them\)", sentence).group(1))
    assert 100 * total / 4000 - 1e-8 <= share <= 100 * total / 4000 + 0.01
    assert total - 1e-8 <= count <= total + 0.1


def test_the_batch_sentence_adds_the_ties_of_whole_pools():
    sentence = batch_sentence(TALLY, BatchBound(0.05, 2400, 240, 0, 28))
    assert "at most 28 of the batch's 2400 unsettled items" in sentence
    assert "0.74 % of all 4000" in sentence  # (28 + 1.5) / 4000
    assert "1.5 for ties" in sentence
