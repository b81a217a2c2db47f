"""Compile what deciding and learning need, before the first request: on a machine's first start that takes a minute.

Later starts, and other workers, read it from the cache on disk. Called by `quorate serve` before it says it is ready.
"""

from __future__ import annotations

from quorate.session import Session


def warm_up() -> None:
    """One item through both posteriors, a late vote and a fit."""
    for method in ("quorate", "finexp", "infexp"):
        session = Session(method, classes=["yes", "no"], pool_size=3, refit_every=None)
        session.open("item", [0.6, 0.4])
        for voter in "abc":
            session.vote("item", "yes", voter=voter)
        session.askable_at_once("item")
        session.learn()
