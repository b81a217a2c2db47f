"""The atomic writer: complete files or none, nothing left behind, private on request."""

import stat
from pathlib import Path

import pytest

from quorate import files
from quorate.files import UNFINISHED, atomic_file, write_atomic, write_folder


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_atomic(path, "old")
    write_atomic(path, "néw\n")
    assert path.read_bytes() == "néw\n".encode()
    assert names(path.parent) == ["file.txt"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path):
    path = write_atomic(tmp_path / "kept" / "file.txt", "old")
    with pytest.raises(OSError):
        write_atomic(path.parent, "a file where a folder is")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as unfinished:
        unfinished.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["kept"]
    assert names(path.parent) == ["file.txt"]


def test_a_private_file_is_its_owners_alone_from_the_start(tmp_path):
    with atomic_file(tmp_path / "backup.db", private=True) as unfinished:
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("durable", [True, False])
def test_the_disk_is_waited_for_unless_the_content_can_be_computed_again(tmp_path, monkeypatch, durable):
    synced = []
    monkeypatch.setattr(files, "sync", synced.append)
    write_atomic(tmp_path / "file", b"content", durable=durable)
    assert bool(synced) is durable


def test_a_folder_with_its_marker_is_complete(tmp_path):
    folder = tmp_path / "results"
    left = tmp_path / f"{UNFINISHED}results" / "a.csv"  # by a killed writer
    write_atomic(left, "half")
    write_folder(folder, {"a.csv": b"1", "summary.json": b"old"})
    (folder / "mine.txt").write_text("mine")

    def fail(path):
        path.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_folder(folder, {"a.csv": lambda path: path.write_text("2"), "b.csv": fail, "summary.json": fail})
    contents = {path.name: path.read_text() for path in folder.iterdir()}
    assert contents == {"a.csv": "1", "summary.json": "old", "mine.txt": "mine"}
    assert names(tmp_path) == ["results"]


def test_the_folder_may_be_the_current_one(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    written = write_folder(Path(), {"a.csv": b"1", "summary.json": b"2"})
    assert names(tmp_path / "here") == ["a.csv", "summary.json"] and names(tmp_path) == ["here"]
    assert [path.read_bytes() for path in written] == [b"1", b"2"]


def test_a_writer_killed_between_two_files_leaves_no_marker(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    write_folder(folder, {"a.csv": b"1", "b.csv": b"1", "summary.json": b"old"})
    replace, moved = files.Path.replace, []

    def killed(path, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(target.name)
        return replace(path, target)

    monkeypatch.setattr(files.Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_folder(folder, {"a.csv": b"2", "b.csv": b"2", "summary.json": b"new"})
    assert names(folder) == ["a.csv", "b.csv"]
