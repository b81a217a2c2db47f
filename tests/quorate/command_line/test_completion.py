"""Tab completion, requested as a shell does."""

import os
import subprocess
import sys
from typing import get_args

import pytest

from quorate.streams.pools import Order


def offered(line):
    """What bash would show for the words typed so far."""
    words = line.split(" ")
    env = dict(os.environ, _QUORATE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    shell = subprocess.run([sys.executable, "-m", "quorate"], env=env, capture_output=True, text=True, check=False)
    return shell.stdout.split()


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("quorate run --order ", list(get_args(Order))),
        ("quorate plan --method fixed-ask", ["fixed-ask-finexp", "fixed-ask-infexp"]),
        ("quorate run --format c", ["counts", "cells"]),
        ("quorate pl", ["plan"]),
    ],
)
def test_a_shell_is_offered_the_values_of_an_option(line, values):
    assert offered(line) == values
