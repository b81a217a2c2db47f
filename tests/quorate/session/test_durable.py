"""Locks, killed writers, full disks and failing system calls: acknowledged events are kept, failed ones are not."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from quorate.errors import JournalError, JournalLocked
from quorate.session import Session
from quorate.session.jsonl import JsonlJournal
from tests.quorate.session.journal_support import HEADER, contents, failing_write, path, vote, write_journal

__all__ = ["path"]


# One writer at a time


def test_a_second_writer_in_this_process_is_refused_until_the_first_closes(path):
    first, second = JsonlJournal(path), JsonlJournal(path)
    first.start(HEADER)
    for use in (second.header, second.events, lambda: second.start({}), lambda: second.append(vote(1))):
        with pytest.raises(JournalLocked) as caught:
            use()
        assert (caught.value.field, Path(caught.value.value).name) == ("journal", "votes.jsonl")
        assert "another session" in caught.value.rule
    first.close()
    assert second.header() == HEADER
    second.close()


def test_a_dropped_journal_lets_go_of_its_lock(path):
    JsonlJournal(path).start(HEADER)
    with closing(JsonlJournal(path)) as journal:
        assert journal.header() == HEADER


def test_a_session_as_a_context_releases_its_journal(path):
    with Session("value", classes=["cat", "dog"], pool_size=3, journal=path) as session:
        session.open("a", [0.5, 0.5])
        with pytest.raises(JournalLocked):
            Session.resume(path)
    with pytest.raises(JournalError):
        session.vote("a", "cat")
    with Session.resume(path) as again:
        assert again.open_items() == ["a"]


# Imports once, then forks a new writer for each line on stdin: it prints its pid, then each acknowledged seq.
WRITERS = """
import os, sys
from quorate.session.jsonl import JsonlJournal

def write(path, once):
    print("pid", os.getpid(), flush=True)
    journal = JsonlJournal(path)
    if journal.header() is None:
        journal.start({"classes": ["a", "b"]})
    seq = sum(1 for _ in journal.events())
    while True:
        os.write(1, f"{seq}\\n".encode())  # one write to a pipe is never torn
        if once:
            os.read(0, 1)
        journal.append({"seq": seq + 1, "type": "vote", "time": 0.5, "item": "猫" * (seq % 50)})
        seq += 1

for word in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        write(sys.argv[1], word == "hold\\n")
    os.waitpid(child, 0)
    os.write(1, b"\\nended\\n")
"""


@pytest.fixture
def writers(path):
    command = [sys.executable, "-c", WRITERS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield process
        process.stdin.close()


def start_writer(writers, word):
    """Its pid and the number of events it found, once it has locked the journal."""
    writers.stdin.write(f"{word}\n")
    return int(writers.stdout.readline().removeprefix("pid ")), int(writers.stdout.readline())


def kill_writer(writers, pid):
    """The numbers acknowledged before it was killed; an incomplete line was not acknowledged."""
    os.kill(pid, signal.SIGKILL)
    lines = list(iter(writers.stdout.readline, "ended\n"))
    return [int(line) for line in lines[:-1]]


def test_a_second_process_is_refused_by_name_until_the_first_is_killed(path, writers):
    pid, _ = start_writer(writers, "hold")
    with pytest.raises(JournalLocked) as caught:
        JsonlJournal(path).header()
    if sys.platform == "linux":
        assert f"process {pid}" in caught.value.rule or "another session" in caught.value.rule
    kill_writer(writers, pid)
    with closing(JsonlJournal(path)) as journal:
        journal.append(vote(1))


def test_every_acknowledged_event_survives_killing_the_writer_again_and_again(path, writers):
    acknowledged = 0
    for kill in range(26):
        pid, found = start_writer(writers, "go")
        assert found >= acknowledged
        if kill % 2:  # killed after an event, however slow the machine is; else wherever the time falls
            assert int(writers.stdout.readline()) == found + 1
        time.sleep(0.0015 * (kill % 13))
        acknowledged = max([found + kill % 2, *kill_writer(writers, pid)])
        with closing(JsonlJournal(path)) as journal:
            events = list(journal.events())
        assert acknowledged <= len(events) <= acknowledged + 1
        assert all(event["item"] == "猫" * ((event["seq"] - 1) % 50) for event in events)
    assert acknowledged >= 13


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_cannot_write_and_does_not_keep_the_lock(path):
    journal = JsonlJournal(path)
    journal.start(HEADER)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    stop = fork.Event()
    child = fork.Process(target=_use_in_child, args=(journal, theirs, stop))
    child.start()
    assert "before this process was forked" in ours.recv()
    journal.append(vote(1))
    journal.close()
    with closing(JsonlJournal(path)) as again:
        again.append(vote(2))
    stop.set()
    child.join()
    assert contents(path) == (HEADER, [vote(1), vote(2)])


def _use_in_child(journal, pipe, stop):
    try:
        journal.append(vote(1))
        pipe.send("written")
    except JournalError as error:
        pipe.send(str(error))
    stop.wait(30)


# Writes that fail


def _fail(code):
    def call(*_args):
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("taken", [0, 1, 7, 60])
def test_a_write_that_fails_half_way_has_no_effect_and_the_next_works(path, monkeypatch, taken, code):
    before = write_journal(path, 2).read_bytes()
    with closing(JsonlJournal(path)) as journal:
        with monkeypatch.context() as patch:
            journal.header()
            patch.setattr(os, "write", failing_write(taken, code))
            for _ in range(2):
                with pytest.raises(JournalError) as caught:
                    journal.append(vote(3))
                assert os.strerror(code) in caught.value.rule
                assert path.read_bytes() == before
        journal.append(vote(3, after="the fault"))
    assert contents(path) == (HEADER, [vote(1), vote(2), vote(3, after="the fault")])


@pytest.mark.parametrize("taken", [0, 5, 30])
def test_a_header_that_fails_half_way_leaves_the_journal_empty(path, monkeypatch, taken):
    with closing(JsonlJournal(path)) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing_write(taken, errno.ENOSPC))
            with pytest.raises(JournalError) as caught:
                journal.start(HEADER)
            assert "the header" in caught.value.rule
        assert path.read_bytes() == b"" and journal.header() is None
        journal.start(HEADER)
    assert contents(path) == (HEADER, [])


def test_a_system_that_takes_one_byte_at_a_time_gets_the_whole_line(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:1]))
    write_journal(path, 3)
    assert contents(path) == (HEADER, [vote(1), vote(2), vote(3)])


def test_a_system_that_takes_nothing_does_not_hang(path, monkeypatch):
    with closing(JsonlJournal(write_journal(path, 1))) as journal:
        monkeypatch.setattr(os, "write", lambda _fd, _data: 0)
        with pytest.raises(JournalError) as caught:
            journal.append(vote(2))
        assert "no more bytes" in caught.value.rule


@pytest.mark.parametrize("interrupted", ["write", "fsync"])
def test_ctrl_c_in_the_middle_of_an_append_leaves_nothing_behind(path, monkeypatch, interrupted):
    with closing(JsonlJournal(write_journal(path, 1))) as journal:
        journal.header()
        real = os.write

        def interrupt(fd, data=b""):
            if data:
                real(fd, data[:9])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, interrupted, interrupt)
            with pytest.raises(KeyboardInterrupt):
                journal.append(vote(2))
        journal.append(vote(2, after="Ctrl-C"))
    assert contents(path)[1] == [vote(1), vote(2, after="Ctrl-C")]


def test_after_a_failed_fsync_nothing_more_is_written(path, monkeypatch):
    before = write_journal(path, 2).read_bytes()
    journal = JsonlJournal(path)
    journal.header()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _fail(errno.EIO))
        with pytest.raises(JournalError) as caught:
            journal.append(vote(3))
        assert "event 3" in caught.value.rule
        assert "resume the session" in caught.value.fix
    assert path.read_bytes() == before
    with pytest.raises(JournalError) as caught:
        journal.append(vote(3))
    assert "an fsync failed" in caught.value.rule
    assert "resume the session" in caught.value.fix
    journal.close()
    with closing(JsonlJournal(path)) as again:
        again.append(vote(3))
    assert len(contents(path)[1]) == 3


def test_after_a_line_that_could_not_be_taken_back_nothing_more_is_written(path, monkeypatch):
    before = write_journal(path, 2).read_bytes()
    journal = JsonlJournal(path)
    journal.header()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_write(10, errno.ENOSPC))
        patch.setattr(os, "ftruncate", _fail(errno.EIO))
        with pytest.raises(JournalError) as caught:
            journal.append(vote(3))
        assert "No space left" in caught.value.rule
        assert "resume the session" in caught.value.fix
    with pytest.raises(JournalError) as caught:
        journal.append(vote(3))
    assert "could not be removed" in caught.value.rule
    assert len(path.read_bytes()) == len(before) + 10
    journal.close()
    with closing(JsonlJournal(path)) as again:
        again.append(vote(3))
        assert again.torn.num_bytes == 10
    assert len(contents(path)[1]) == 3
