"""The text of a journal: damage is always found and reported, and other files are not changed."""

import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from quorate.errors import JournalCorrupt, JournalError
from quorate.session.jsonl import JsonlJournal
from quorate.session.lines import encode_line, header_line, read_journal
from tests.quorate.session.journal_support import HEADER, contents, path, vote, write_journal
from tests.refusals import refused

__all__ = ["path"]


def test_a_flipped_byte_anywhere_is_found_and_never_gives_a_wrong_event(path):
    whole = bytearray(write_journal(path, 4).read_bytes())
    line_of = [1 + bytes(whole[:offset]).count(b"\n") for offset in range(len(whole))]
    for offset, original in enumerate(whole):
        for flip in (0x01, 0x10, 0x80, original ^ 0x0A):
            if flip == 0:
                continue
            whole[offset] = original ^ flip
            path.write_bytes(whole)
            _check_damage(path, line_of[offset])
            assert path.read_bytes() == whole
        whole[offset] = original


def _check_damage(path, line):
    for read in (lambda: read_journal(path)[1], lambda: _events_for_writing(path)):
        seen = []
        with pytest.raises(JournalError) as caught:
            for event in read():
                seen.append(event)
        assert seen == [vote(seq) for seq in range(1, len(seen) + 1)]
        assert len(seen) <= max(line - 2, 0)
        if isinstance(caught.value, JournalCorrupt):
            assert (caught.value.line, caught.value.value) == (line, str(path))
        else:
            assert line == 1 and "a quorate journal" in caught.value.rule
    assert list(path.parent.iterdir()) == [path]


def _events_for_writing(path):
    with closing(JsonlJournal(path, fsync=False)) as journal:
        yield from journal.events()


@pytest.mark.parametrize("garbage", [b"garbage\n", b"\n", b"{}\n", b'{"seq":5}\n', b"\x00" * 40 + b"\n"])
def test_a_bad_last_line_with_its_newline_is_damage_and_not_torn(path, garbage):
    whole = write_journal(path, 4).read_bytes()
    path.write_bytes(whole + garbage)
    with closing(JsonlJournal(path)) as journal:
        with pytest.raises(JournalCorrupt) as caught:
            list(journal.events())
        assert (caught.value.line, caught.value.place) == (6, f"line 6, byte {len(whole)}")
        assert f"head -c {len(whole)}" in caught.value.fix
        with pytest.raises(JournalCorrupt) as caught:
            journal.append(vote(5))
        assert caught.value.line == 6
        assert journal.torn is None
    assert path.read_bytes() == whole + garbage


@pytest.mark.parametrize(
    ("order", "line", "found"), [([1, 2, 4], 4, 4), ([1, 2, 2], 4, 2), ([2], 2, 2), ([1, 3, 2], 3, 3)]
)
def test_a_gap_or_a_double_in_the_numbers_names_its_line(path, order, line, found):
    path.write_bytes(header_line(HEADER) + b"".join(encode_line(vote(seq), what="event") for seq in order))
    with pytest.raises(JournalCorrupt) as caught:
        contents(path)
    assert caught.value.line == line
    assert f"its seq is {found} instead of {line - 1}" in caught.value.rule


# Files that are no journal


@pytest.mark.parametrize("content", [b"hello", b"a,b\n1,2\n", b'{"seq":1}\n', b"[]\n", b"\x00\x00", b'{"quorate":1}\n'])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    for use in (lambda: read_journal(path), JsonlJournal(path).header, lambda: JsonlJournal(path).start(HEADER)):
        with refused("journal", JournalError) as caught:
            use()
        assert "quorate journal" in caught.value.rule
    assert path.read_bytes() == content and list(path.parent.iterdir()) == [path]


def test_another_format_is_refused_in_one_sentence(path):
    path.write_bytes(encode_line({"quorate_journal": 2, "version": "0.2"}, what="header"))
    for use in (lambda: read_journal(path), JsonlJournal(path).header):
        with refused("journal", JournalError) as caught:
            use()
        assert "not of format 2" in caught.value.rule and "quorate 0.2" in caught.value.fix


def test_a_missing_an_empty_or_a_wrong_place_is_refused(path):
    for content in (None, b"", header_line(HEADER)[:-1]):
        if content is not None:
            path.write_bytes(content)
        with refused("journal", JournalError):
            read_journal(path)
    for place in (path / "deeper" / "j.jsonl", path.parent, "/dev/null"):
        with refused("journal", JournalError):
            JsonlJournal(place).start(HEADER)


def test_a_read_only_file_can_be_looked_at_but_not_written():
    folder = Path(tempfile.mkdtemp())
    path = write_journal(folder / "j.jsonl", 2)
    folder.chmod(0o755)
    path.chmod(0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may write what is read-only
    try:
        with refused("journal", JournalError) as caught:
            JsonlJournal(path).header()
        assert caught.value.fix.startswith("Change its permissions")
        assert len(contents(path)[1]) == 2
    finally:
        os.seteuid(user)
        shutil.rmtree(folder)
