"""The online session: events are written to the journal, then applied; the state is a fold over the events."""

from quorate.session.batch import BatchDecisions, Decider, decide_items, decider
from quorate.session.decide import draw_quota, first_state, learned_of, own_alpha, stop_reason
from quorate.session.event_checks import CLOSE_ENOUGH
from quorate.session.inputs import checked_id, class_number, parse_prediction
from quorate.session.items import ABSTAINED, ItemState, Standing, lone_item
from quorate.session.journal import FIRST_SEQ, Event, Journal, MemoryJournal
from quorate.session.jsonl import JsonlJournal
from quorate.session.lines import encode_line, header_line, read_journal
from quorate.session.people import FEWEST_GOLD
from quorate.session.people_calls import NextExpert
from quorate.session.results import history_table
from quorate.session.session import Session
from quorate.session.single import (
    Outbox,
    ParamsVersion,
    ParamsVersionOf,
    is_decided,
    item_session,
    recompute,
    version_named,
)
from quorate.session.state import Settings, gains_of, initial, learned_record
from quorate.session.tuning import tuned

__all__ = ["Journal", "JsonlJournal", "MemoryJournal", "NextExpert", "Session", "read_journal"]
