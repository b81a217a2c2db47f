"""People at a terminal vote on messages, one at a time, until no further vote is worth asking for.

Run: python examples/live_loop.py votes.jsonl       Every vote is in that journal before the next question; end with
Ctrl-D or Ctrl-C and run the same line again to go on where you were.
"""

import sys
from pathlib import Path

import quorate
from quorate.live import ABSTAIN, AskFailed, Judge, Outcome, decide_all

CLASSES = ["fine", "spam"]
TEXTS = {
    "m1": "Meeting moved to three o'clock.",
    "m2": "You have WON! Reply now to claim.",
    "m3": "Is the offer from last week still open?",
}
PREDICTIONS = {"m1": {"spam": 0.05}, "m2": {"spam": 0.9}, "m3": {"spam": 0.5}}  # from your model
PEOPLE = ["ann", "bob", "eve"]


def ask(person: str, item: str) -> str | None:
    """One person's vote from the keyboard; an empty line abstains, anything else is asked again."""
    while True:
        typed = input(f"{person}, {item}: {TEXTS[item]!r}  [f]ine, [s]pam, empty for no opinion: ").strip().lower()
        if not typed:
            return ABSTAIN
        for name in CLASSES:
            if name.startswith(typed):
                return name
        print(f"{typed!r} is neither fine nor spam")


def tell(outcome: Outcome) -> None:
    """Say how an item ended; of those closed in an earlier run, nothing."""
    if outcome.earlier:
        return
    decision = outcome.decision
    answer = outcome.label or "unanswered"
    print(f"\n{outcome.item}: {answer} ({decision.confidence:.0%} sure, {decision.num_votes} votes, {decision.reason})")


def main(path: Path | None) -> int:
    """Go on with the journal if it exists, else start it."""
    if path is None:
        return vote(quorate.Session(classes=CLASSES, pool_size=len(PEOPLE)))
    with quorate.Session.at(path, classes=CLASSES, pool_size=len(PEOPLE)) as session:
        return vote(session)


def vote(session: quorate.Session) -> int:
    """Ask until every message is decided, or nobody types any more."""
    judges = [Judge(name, lambda item, name=name: ask(name, item)) for name in PEOPLE]
    try:
        result = decide_all(PREDICTIONS, judges, session=session, on_item=tell)
    except (AskFailed, KeyboardInterrupt):  # Ctrl-D is an EOFError inside ask
        print(f"\nStopped. Open: {', '.join(session.open_items()) or 'none'}; votes kept: {session.counts()['votes']}")
        return 1
    print(f"\n{result.cost:.0f} votes instead of {result.full_cost:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
