"""A base installation is small, and the size of each extra is in the docs (`make sizes` prints the table)."""

import re
import tomllib
from pathlib import Path

from benchmarks.install_size import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs" / "howto" / "install.md").read_text()
OF_DEVELOPERS = {"docs", "dev"}
FOR_OTHERS = {"service", "tables", "plot", "data"}  # extras whose packages a base installation does without


def names(requirements: list[str]) -> set[str]:
    """The packages, without those that are extras of our own."""
    found = {re.match(r"[A-Za-z0-9_.-]+", each)[0].lower() for each in requirements}
    return found - {"quorate"}


def test_every_extra_is_measured_and_has_a_row():
    extras = set(PROJECT["optional-dependencies"]) - OF_DEVELOPERS
    assert set(EXTRAS) == {"", *extras}
    rows = re.findall(r"^\| `quorate(?:\[(\w+)\])?` \| (\d+) \| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert [name for name, *_ in rows] == list(EXTRAS)
    base = int(rows[0][2])
    assert all(int(size) > base for _, _, size, _ in rows[1:])


def test_nothing_of_the_service_tables_or_plots_is_in_a_base_installation():
    base = names(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    assert base
    assert base.isdisjoint(set().union(*(names(extras[each]) for each in FOR_OTHERS)))
