"""Values as strict JSON."""

import json
import math

import numpy as np
import pytest

from quorate.commands.output import print_json
from quorate.reports.format import plain


def test_what_is_not_finite_is_null_at_any_depth():
    content = {"a": [math.nan, {"b": (np.float64("inf"), -math.inf)}], "c": np.array([1.0, np.nan]), 3: np.int64(2)}
    assert plain(content) == {"a": [None, {"b": [None, None]}], "c": [1.0, None], "3": 2}


def test_commands_print_strict_json(capsys):
    print_json({"accuracy": {"vgg": [0.5, math.nan]}, "title": "Ä", "flag": True})
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed == {"accuracy": {"vgg": [0.5, None]}, "title": "Ä", "flag": True}
