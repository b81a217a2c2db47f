"""Prints docs/reference/table-rules.md from the program: `python docs/table_rules.py > docs/reference/table-rules.md`.

A test compares the page with what this prints.
"""

from __future__ import annotations

from quorate.tables import RULES

HEAD = """# Rules for irregular rows

This page lists every rule for irregular rows of [tables](../tables.md#every-rule). It is written by
`python docs/table_rules.py`.

| what is met | what is done | rule | where it is counted |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    where = {True: "summary, rejects", False: "summary"}
    return HEAD + "".join(
        f"| {rule.met} | {rule.done} | `{rule.name}` | {where[rule.set_aside]} |\n" for rule in RULES.values()
    )


if __name__ == "__main__":
    print(page(), end="")
