"""docs/run.md names every file, column, part of the summary, stop reason and choice of `quorate run`."""

import re
from inspect import signature
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import quorate
from quorate.streams.pools import Order, PartlyVoted
from quorate.tables.options import OPTIONS
from quorate.types import Reason
from quorate.workflows.run import run
from quorate.workflows.run.files import FILES
from quorate.workflows.run.result import DECISION_COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "run.md").read_text()


@pytest.mark.parametrize("name", [*FILES, *DECISION_COLUMNS, "prob_<class>", *get_args(Order), *get_args(PartlyVoted)])
def test_files_columns_and_choices_have_a_row(name):
    assert re.search(rf"^\|.*`{re.escape(name)}`.*\|", PAGE, re.MULTILINE)


def test_every_part_of_the_summary_is_named():
    summary = run(np.array([[0, 1], [1, 1]]), np.full((2, 2), 0.5)).summary()
    for name in summary:
        assert f"`{name}`" in PAGE or name == "quorate", name


def test_every_stop_reason_is_named():
    for reason in get_args(Reason):
        assert f"`{reason}`" in PAGE or reason == "ask", reason


def test_every_option_is_named_where_a_notebook_looks_for_it():
    assert list(signature(quorate.run).parameters) == list(signature(run).parameters)
    for name in OPTIONS:
        assert re.search(rf"\b{name}\b", quorate.run.__doc__), name
