"""docs/run.md names every file and choice of `quorate run`; the pages it links to name keys and stop reasons."""

import re
from inspect import signature
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import quorate
from quorate.commands.run import run
from quorate.commands.run.result import FILES
from quorate.streams.pools import Order
from quorate.tables.options import OPTIONS
from quorate.types import Reason

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "run.md").read_text()


@pytest.mark.parametrize("name", [*FILES, *get_args(Order)])
def test_files_and_choices_have_a_row(name):
    assert re.search(rf"^\|.*`{re.escape(name)}`.*\|", PAGE, re.MULTILINE)


def test_every_part_of_the_summary_has_a_row():
    outputs = (DOCS / "reference" / "outputs.md").read_text().split("## summary.json")[1].split("\n## ")[0]
    for name in run(np.array([[0, 1], [1, 1]]), np.full((2, 2), 0.5)).summary():
        assert re.search(rf"^\| `{name}` \|", outputs, re.MULTILINE), name


def test_every_stop_reason_has_a_row():
    reasons = (DOCS / "concepts.md").read_text()
    for reason in get_args(Reason):
        assert re.search(rf"^\| `{reason}` \|", reasons, re.MULTILINE), reason


def test_every_option_is_named_where_a_notebook_looks_for_it():
    assert list(signature(quorate.run).parameters) == list(signature(run).parameters)
    for name in OPTIONS:
        assert re.search(rf"\b{name}\b", quorate.run.__doc__), name
