"""The online session: events are written to the journal, then applied; the state is a fold over the events."""

from quorate.session.journal import Journal, MemoryJournal
from quorate.session.jsonl import JsonlJournal
from quorate.session.lines import read_journal
from quorate.session.people_calls import NextExpert
from quorate.session.session import Session

__all__ = ["Journal", "JsonlJournal", "MemoryJournal", "NextExpert", "Session", "read_journal"]
