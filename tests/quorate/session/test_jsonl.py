"""The journal file: reopened, truncated at every byte, and changed by other programs."""

import errno
import json
import logging
import os
import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest

from quorate.errors import JournalError
from quorate.session.jsonl import JsonlJournal
from tests.quorate.session.journal_support import HEADER, contents, failing_write, path, vote, write_journal
from tests.refusals import refused

__all__ = ["path"]


def test_every_line_is_json_with_a_checksum_and_the_first_names_format_and_version(path):
    lines = [json.loads(line) for line in write_journal(path).read_text("utf-8").split("\n")[:-1]]
    assert list(lines[0])[:2] == ["quorate_journal", "version"] and lines[0]["quorate_journal"] == 3
    assert {key: lines[0][key] for key in HEADER} == HEADER
    assert [line["seq"] for line in lines[1:]] == [1, 2, 3, 4, 5]
    assert all(len(line["crc"]) == 8 for line in lines)
    assert "Käfer" in path.read_text("utf-8")


def test_making_a_journal_and_asking_a_missing_one_creates_nothing(tmp_path, path):
    journal = JsonlJournal(path)
    assert journal.header() is None and list(journal.events()) == []
    assert list(tmp_path.iterdir()) == []


def test_appending_goes_on_after_reopening_whether_or_not_the_events_were_read(path):
    write_journal(path, 3)
    with closing(JsonlJournal(path)) as journal:
        journal.append(vote(4))
    with closing(JsonlJournal(path)) as journal:
        assert len(list(journal.events())) == 4
        journal.append(vote(5))
    with closing(JsonlJournal(path)) as journal:
        next(journal.events())
        journal.append(vote(6))
    assert contents(path) == (HEADER, [vote(seq) for seq in range(1, 7)])


def test_events_read_while_appending_are_those_of_the_moment_of_the_call(path):
    write_journal(path, 3)
    with closing(JsonlJournal(path)) as journal:
        slowly = journal.events()
        next(slowly)
        journal.append(vote(4))
        assert [event["seq"] for event in slowly] == [2, 3]
        journal.append(vote(5))
        assert [event["seq"] for event in journal.events()] == [1, 2, 3, 4, 5]


def test_the_fields_the_journal_writes_itself_are_refused(path):
    with closing(JsonlJournal(path)) as journal:
        for name in ("quorate_journal", "version", "crc"):
            with refused("header", JournalError, value=name):
                journal.start({name: 1})
        assert not path.exists()
        journal.start(HEADER)
        with pytest.raises(JournalError) as caught:
            journal.append(vote(1, crc="0"))
        assert caught.value.value == "crc"


def test_a_closed_journal_says_so_and_closing_twice_is_fine(path):
    journal = JsonlJournal(write_journal(path))
    journal.header()
    journal.close()
    journal.close()
    for use in (journal.header, journal.events, lambda: journal.append(vote(6)), lambda: journal.start({})):
        with refused("journal", JournalError) as caught:
            use()
        assert "it was closed" in caught.value.rule


def test_two_threads_cannot_mix_their_lines(path):
    write_journal(path, 0)
    with closing(JsonlJournal(path, fsync=False)) as journal:
        journal.append(vote(1))

        def work():
            for seq in range(2, 2000):
                try:
                    journal.append(vote(seq))
                except JournalError as error:
                    assert "the next in this journal" in str(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert contents(path)[1]


# Cuts: a crash in the middle of a write


def test_a_journal_cut_at_any_byte_gives_back_exactly_the_whole_lines_and_goes_on(path, caplog, monkeypatch):
    whole = write_journal(path, 5).read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _fd: None)  # hundreds of files: only what they hold matters here
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    caplog.set_level(logging.CRITICAL, logger="quorate.journal")
    for cut in range(len(whole) + 1):
        folder = path.parent / f"cut-{cut}"
        folder.mkdir()
        _check_cut(folder / "j.jsonl", whole, cut, ends)
        shutil.rmtree(folder)


def _check_cut(copy, whole, cut, ends):
    copy.write_bytes(whole[:cut])
    kept = sum(end <= cut for end in ends)  # lines, the header among them
    keep = ends[kept - 1] if kept else 0
    with closing(JsonlJournal(copy, fsync=False)) as journal:
        assert journal.header() == (HEADER if kept else None)
        assert list(journal.events()) == [vote(seq) for seq in range(1, kept)]
        if cut == keep:
            assert journal.torn is None and len(list(copy.parent.iterdir())) == 1
        else:
            assert (journal.torn.offset, journal.torn.num_bytes) == (keep, cut - keep)
            assert journal.torn.saved_as == copy.with_name(f"j.jsonl.torn-{keep}")
            assert journal.torn.saved_as.read_bytes() == whole[keep:cut]
        assert copy.read_bytes() == whole[:keep]
        if not kept:
            journal.start(HEADER)
        journal.append(vote(max(kept, 1), after="the cut"))
    assert contents(copy) == (HEADER, [*map(vote, range(1, kept)), vote(max(kept, 1), after="the cut")])


def test_a_torn_line_is_reported_in_the_log_and_a_second_one_at_the_same_place_kept_too(path, caplog):
    whole = write_journal(path, 2).read_bytes()
    for content in (b'{"seq":3', b"\x00\x00\x00"):
        path.write_bytes(whole + content)
        with closing(JsonlJournal(path)) as journal:
            journal.header()
    assert "line 4" in caplog.text and "votes.jsonl.torn-" in caplog.text
    assert path.with_name(f"votes.jsonl.torn-{len(whole)}").read_bytes() == b'{"seq":3'
    assert path.with_name(f"votes.jsonl.torn-{len(whole)}.1").read_bytes() == b"\x00\x00\x00"


def test_a_torn_line_longer_than_one_block_is_cut_at_its_beginning(path):
    whole = write_journal(path, 2).read_bytes()
    for length in (65_535, 65_536, 65_537, 300_000):
        path.write_bytes(whole + b"x" * length)
        with closing(JsonlJournal(path)) as journal:
            assert len(list(journal.events())) == 2
            assert journal.torn.num_bytes == length
        assert path.read_bytes() == whole


def test_a_torn_line_that_cannot_be_set_aside_stays_where_it_is(path, monkeypatch):
    whole = write_journal(path, 2).read_bytes() + b'{"seq":3'
    path.write_bytes(whole)
    with monkeypatch.context() as patch, closing(JsonlJournal(path)) as journal:
        patch.setattr(os, "write", failing_write(3, errno.ENOSPC))
        with refused("journal", JournalError) as caught:
            journal.header()
        assert caught.value.fix.startswith("Free some space")
        assert path.read_bytes() == whole and list(path.parent.iterdir()) == [path]
        patch.undo()
        assert len(list(journal.events())) == 2


def test_looking_changes_nothing_needs_no_lock_and_leaves_a_torn_line_out(path):
    whole = write_journal(path, 2).read_bytes() + b'{"seq":3'
    with closing(JsonlJournal(path)) as journal:
        journal.append(vote(3))
        assert len(contents(path)[1]) == 3
    path.write_bytes(whole)
    assert contents(path) == (HEADER, [vote(1), vote(2)])
    assert path.read_bytes() == whole and list(path.parent.iterdir()) == [path]


# A file that changes underneath


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: os.truncate(path, 100), "100 bytes"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x\n"), "bytes"),
        (lambda path: path.unlink(), os.strerror(errno.ENOENT)),
        (lambda path: path.rename(path.with_name("old")), os.strerror(errno.ENOENT)),
        (lambda path: Path(shutil.copy(path, f"{path}.copy")).replace(path), "replaced"),
    ],
    ids=["truncated", "extended", "deleted", "renamed", "replaced"],
)
def test_a_file_changed_underneath_is_noticed_and_not_written(path, change, message):
    write_journal(path, 3)
    with closing(JsonlJournal(path)) as journal:
        assert len(list(journal.events())) == 3
        change(path)
        after = path.read_bytes() if path.exists() else None
        for use in (lambda: journal.append(vote(4)), lambda: journal.append(vote(4)), journal.events):
            with refused("journal", JournalError) as caught:
                use()
            assert message in caught.value.rule
        assert (path.read_bytes() if path.exists() else None) == after


def test_a_file_cut_while_it_is_read_is_noticed(path):
    write_journal(path, 3000, fsync=False)
    with closing(JsonlJournal(path)) as journal:
        events = journal.events()
        next(events)
        lines = path.read_bytes().splitlines(keepends=True)
        os.truncate(path, sum(map(len, lines[:2000])))
        with refused("journal", JournalError) as caught:
            list(events)
        assert "while it is read" in caught.value.rule


def test_a_relative_path_stays_the_same_file_after_a_change_of_folder(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with closing(JsonlJournal(path.name)) as journal:
        journal.start(HEADER)
        monkeypatch.chdir("/")
        journal.append(vote(1))
    assert contents(path) == (HEADER, [vote(1)])
