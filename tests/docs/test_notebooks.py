"""The notebooks run, and print what they say they print."""

import json

import pytest

from tests.docs.notebooks import NOTEBOOKS, outputs_of, stored


def test_there_are_two():
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    assert outputs_of(notebook) == stored(notebook), f"run: python -m tests.docs.notebooks examples/{path.name}"
