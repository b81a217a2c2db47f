"""No call of the core crashes the interpreter, runs forever or writes outside its outputs, however wrong it is."""

import subprocess
import sys

from quorate import core
from tests.core import wrong_calls

COUNT = 400  # calls of each function


def test_wrong_calls_are_refused_or_answered():
    command = [sys.executable, "-m", "tests.core.wrong_calls", str(COUNT)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    last = run.stdout.splitlines()[-1:]
    assert run.returncode == 0, f"the last call: {last}\n{run.stderr[-2000:]}"
    assert last == ["all done"]


def test_the_arguments_of_every_function_can_be_made():
    assert len(core.FUNCTIONS) > 20
    assert {wrong_calls.call(name, 0) for name in core.FUNCTIONS} <= {"answered", "refused"}
