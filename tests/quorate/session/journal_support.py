"""Shared by the journal tests: a small journal with unusual names, and a disk that fills up."""

import os
from contextlib import closing

import pytest

from quorate.session.jsonl import JsonlJournal
from quorate.session.lines import read_journal

HEADER = {"classes": ["Käfer", "猫"], "pool_size": 6, "seed": 7}
NAMES = ["plain", "Zoë", "猫🐈", "a\nb\u2028\u0085\x00c", '"quoted" \\ ,"crc":"00000000"}', ""]


def vote(seq, **more):
    return {"seq": seq, "type": "vote", "time": 1712345678.123456 + seq / 3, "item": NAMES[seq % len(NAMES)], **more}


def write_journal(path, count=5, **options):
    with closing(JsonlJournal(path, **options)) as journal:
        journal.start(HEADER)
        for seq in range(1, count + 1):
            journal.append(vote(seq))
    return path


def contents(path):
    header, events = read_journal(path)
    return header, list(events)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "votes.jsonl"


def failing_write(taken, code):
    real, left = os.write, [taken]

    def write(fd, data):
        if not left[0]:
            raise OSError(code, os.strerror(code))
        done = real(fd, data[: left[0]])
        left[0] -= done
        return done

    return write
