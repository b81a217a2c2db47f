"""Sessions with named people for tests, and their state about the people as plain values."""

from quorate import Expert
from quorate.methods import as_method, with_learning
from quorate.session import Session
from tests.quorate.session.conftest import CLASSES, known

SENIOR, TRAINEE = "senior", "trainee"
TRAINEES = [Expert(name, rank=TRAINEE) for name in ("eve", "joe")]
PANEL = [Expert("ann", 3.0, SENIOR), Expert("bob"), *TRAINEES, Expert("kim")]


def make(method="value", **settings):
    settings = {"classes": CLASSES, "seed": 3} | settings
    if "experts" not in settings:
        settings["experts"] = PANEL
    if not settings["experts"]:
        settings.setdefault("pool_size", 5)
    return Session(with_learning(as_method(method), window=50, refit_every=5), **settings)


def known_of_people(session):
    """The whole state of a session, including people: equal iff the sessions are in the same state."""
    people = session._state.people
    plain = known(session) | {
        "members": people.members,
        "totals": (people.agreements, people.judged, people.temperature),
        "gold": {item: (belief.tolist(), truth) for item, (belief, truth) in people.gold.items()},
        "since_fit": people.gold_since_fit,
    }
    if people.crowd is not None:
        crowd = people.crowd
        plain["crowd"] = ([each.tolist() for each in crowd.state], crowd.rows, crowd._order, crowd._num_closed)
        plain["revised"] = {item: [each.tolist() for each in kept] for item, kept in crowd._closed.items()}
    if people.panel is not None:
        plain["panel"] = ([each.tolist() for each in people.panel.state], people.panel.columns, people.panel._numbers)
    return plain
