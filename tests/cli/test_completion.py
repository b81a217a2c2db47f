"""What Tab offers, asked for as a shell does, and that these are the values the library takes."""

import os
import subprocess
import sys
from typing import get_args

import pytest

from quorate import methods
from quorate.cli import table_options as completion
from quorate.streams import control, pools
from quorate.tables.join import Items
from quorate.tables.votes import read as votes
from quorate.workflows import score
from quorate.workflows.plan import pools as plan_pools


def offered(line):
    """What bash would show for the words typed so far."""
    words = line.split(" ")
    env = dict(os.environ, _QUORATE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    shell = subprocess.run([sys.executable, "-m", "quorate"], env=env, capture_output=True, text=True, check=False)
    return shell.stdout.split()


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("quorate run --order ", list(completion.ORDERS)),
        ("quorate plan --method fixed-ask", ["fixed-ask-finexp", "fixed-ask-infexp"]),
        ("quorate score --match o", ["order"]),
    ],
)
def test_a_shell_is_offered_the_values_of_an_option(line, values):
    assert offered(line) == values


def test_every_value_offered_is_one_the_library_takes_and_none_is_missing():
    literals = {"ORDERS": pools.Order, "PARTLY_VOTED": pools.PartlyVoted, "PARTLY_VOTED_PILOT": plan_pools.PartlyVoted}
    literals |= {"SPEEDS": control.Speed, "FORMATS": votes.Format, "ITEMS": Items}
    for name, literal in literals.items():
        assert getattr(completion, name) == get_args(literal), name
    assert tuple(methods.METHODS) == completion.METHODS
    assert completion.MATCHES == score.MATCHES
