"""Prints docs/reference/table-rules.md from the program: `python docs/table_rules.py > docs/reference/table-rules.md`.

A test compares the page with what this prints.
"""

from __future__ import annotations

from quorate.tables import RULES
from quorate.tables.columns import SUMMARIES, SYNONYMS

HEAD = """# Rules and names of tables

This page lists the rules for irregular rows of [tables](../tables.md#every-rule) and the names of columns that are
found without an option. It is written by `python docs/table_rules.py`.

| what is met | what is done | rule | where it is counted |
|---|---|---|---|
"""
NAMES = """
## Names of columns

Compared without case, spaces, dots, dashes and underscores; the first name that a table has counts. People in columns
of their own have the names of a worker with a number or a letter: `annotator_1`, `rater B`, `r1`.

| column | names |
|---|---|
"""
ROLES = {
    "task": "item of a row per vote", "item": "item of a row per item", "worker": "worker", "label": "label",
    "cells": "all votes of an item", "timestamp": "time", "prediction": "predicted label", "score": "its score",
    "truth": "true class", "cost": "cost of a vote",
}  # fmt: skip


def page() -> str:
    """The whole page."""
    where = {True: "summary, rejects", False: "summary"}
    rules = [f"| {rule.met} | {rule.done} | `{rule.name}` | {where[rule.set_aside]} |\n" for rule in RULES.values()]
    names = [f"| {what} | {', '.join(SYNONYMS[role])} |\n" for role, what in ROLES.items()]
    summaries = f"| truth or summary, not read as people or classes | {', '.join(sorted(SUMMARIES))} |\n"
    return HEAD + "".join(rules) + NAMES + "".join(names) + summaries


if __name__ == "__main__":
    print(page(), end="")
