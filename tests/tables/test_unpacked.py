"""A small packed file that becomes large is refused at the limit, with its size and the option that allows it."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from quorate.errors import InvalidInput
from quorate.tables import read_predictions, read_votes
from quorate.unpacked import VARIABLE, limited_to, max_size, parse_size

ROWS = 100_000


def text_gz(path):
    path.write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,cat\n" * ROWS))


def jsonl_gz(path):
    path.write_bytes(gzip.compress(b'{"item":"a","worker":"b","label":"cat"}\n' * ROWS))


def parquet(path):
    same = pa.array(["x" * 100] * ROWS)
    pq.write_table(pa.table({"item": same, "worker": same, "label": same}), path)


def xlsx(path):
    book = Workbook()
    book.active.append(["item", "worker", "label"])
    book.active.append(["a", "b", "cat"])
    book.save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 2_000_000)


def npz(path):
    np.savez_compressed(path, probs=np.full((ROWS, 2), 0.5))


BOMBS = {
    "v.csv.gz": (text_gz, read_votes), "v.jsonl.gz": (jsonl_gz, read_votes), "v.parquet": (parquet, read_votes),
    "v.xlsx": (xlsx, read_votes), "p.npz": (npz, read_predictions),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_beyond_the_limit_is_refused(tmp_path, monkeypatch, name):
    write, read = BOMBS[name]
    write(tmp_path / name)
    monkeypatch.setenv(VARIABLE, "500KB")
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path / name)
    assert caught.value.field == "max_size"
    assert caught.value.value > 500_000
    assert "--max-size" in caught.value.fix


def test_a_header_that_claims_a_huge_array_is_refused(tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 2)})
    (tmp_path / "p.npy").write_bytes(content.getvalue())
    with pytest.raises(InvalidInput):
        read_predictions(tmp_path / "p.npy")


def test_a_file_that_is_not_packed_is_read_whatever_its_size(tmp_path, monkeypatch):
    np.savez(tmp_path / "p.npz", probs=np.full((1000, 2), 0.5))
    monkeypatch.setenv(VARIABLE, "1KB")
    assert len(read_predictions(tmp_path / "p.npz").tables) == 1


@pytest.mark.parametrize("text", ["", "many", "-3GB", "0", "3XB"])
def test_a_size_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        parse_size(text)
    assert caught.value.field == "max_size"


def test_the_limit_is_set_for_a_while_and_then_as_before(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with limited_to("3MB"):
        assert max_size() == 3_000_000
    assert max_size() == 2 * 10**9
