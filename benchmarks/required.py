"""Figures that must hold, beside what was measured; the process ends with 1 if one is missed."""

from __future__ import annotations

import sys

from common import say

HEADS = ("| what | required | measured | holds |", "|---|---:|---:|---|")


class Required:
    """Rows (what, required, measured, holds), in the order in which they were measured."""

    def __init__(self):
        self.rows = []

    def least(self, what, measured, limit, text="{:.2f}"):
        """`measured` must be `limit` or more; both are printed as `text` says."""
        self._add(what, "at least", measured, limit, text, measured >= limit)

    def most(self, what, measured, limit, text="{:.2f}"):
        """`measured` must be `limit` or less."""
        self._add(what, "at most", measured, limit, text, measured <= limit)

    def _add(self, what, word, measured, limit, text, holds):
        said = f"| {what} | {word} {text.format(limit)} | {text.format(measured)} | {'yes' if holds else 'NO'} |"
        self.rows.append((said, bool(holds)))

    @property
    def missed(self):
        """How many do not hold."""
        return sum(not holds for _, holds in self.rows)

    def end(self):
        """Print the table; end the process with 1 if a figure is missed."""
        if self.rows:
            say("\nRequired figures\n\n" + "\n".join((*HEADS, *(said for said, _ in self.rows))))
        if self.missed:
            sys.exit(f"missed: {self.missed} of {len(self.rows)}")
