"""A small packed file that becomes large is refused at the limit, with its size and the option that allows it.

Damaged, oversized and hostile .npy and .npz files give the right arrays or one refusal, never anything else.
"""

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from quorate.commands.audit import files as audit_files
from quorate.datasets import load_npz
from quorate.errors import InvalidInput
from quorate.packed_files import VARIABLE, parquet_batches, parse_size, plain_arrays
from quorate.tables import read_predictions, read_votes
from quorate_paper.datasets import checksum
from quorate_paper.datasets.prediction_files import read_parquet
from tests.refusals import refused

ROWS = 100_000


def text_gz(path):
    path.write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,cat\n" * ROWS))


def short_rows(path):
    """Fewer bytes than the limit, more votes than fit in as many bytes."""
    path.write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,c\n" * 60_000))


def one_record(path):
    """One record of many small lists: 360 kB of text, thirty times as much once it is decoded."""
    path.write_bytes(gzip.compress(b'{"item":"a","label":[' + b"[]," * 120_000 + b"[]]}\n"))


def one_element(path):
    """The same in a JSON array."""
    path.write_bytes(gzip.compress(b'[{"item":"a","label":[' + b"[]," * 120_000 + b"[]]}]\n"))


def jsonl_gz(path):
    path.write_bytes(gzip.compress(b'{"item":"a","worker":"b","label":"cat"}\n' * ROWS))


def parquet(path):
    same = pa.array(["x" * 100] * ROWS)
    pq.write_table(pa.table({"item": same, "worker": same, "label": same}), path)


def xlsx_rows(path, rows):
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def xlsx(path):
    xlsx_rows(path, [["item", "worker", "label"], ["a", "b", "cat"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 2_000_000)


def npz(path):
    np.savez_compressed(path, probs=np.full((ROWS, 2), 0.5))


def repeated_text(path):
    """One long text that stands in every row of a batch: 6 kB on the disk, 655 MB in memory."""
    few = pa.array(["a"] * (1 << 17))
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 17, dtype=np.int32)), pa.array(["x" * 5000]))
    pq.write_table(pa.table({"item": few, "worker": few, "label": long}), path, store_schema=False)


def repeated_text_delta(path):
    """The same in the encoding that stores only how a text differs from the one before: 20 MB in memory."""
    table = pa.table({"item": ["a"] * 4000, "worker": ["a"] * 4000, "label": ["x" * 5000] * 4000})
    pq.write_table(table, path, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")


def repeated_numbers(path):
    """Numbers that are all alike, in lists, all in one row."""
    lists = pa.ListArray.from_arrays(pa.array([0, 5_000_000]), pa.array(np.zeros(5_000_000)))
    pq.write_table(pa.table({"item": ["a"], "probs": lists}), path)


def shared_strings(path, num_texts=50_000, num_rows=1):
    """A workbook written by hand: `num_texts` shared strings of 1 kB, the first of them in every cell."""
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    kinds = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "sharedStrings": "sharedStrings"}
    overrides = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{office}.{kind}+xml"/>' for part, kind in kinds.items()
    )
    header = "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in ("item", "worker", "label"))
    rows = ("<row>" + '<c t="s"><v>0</v></c>' * 3 + "</row>") * num_rows
    texts = f"<si><t>{'x' * 1000}</t></si>" * num_texts
    link = f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">{overrides}</Types>',
        "_rels/.rels": f'{link}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{link}worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="s" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData><row>{header}</row>{rows}</sheetData>'
        "</worksheet>",
        f"xl/{list(kinds)[2]}.xml": f'<sst xmlns="{main}">{texts}</sst>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def one_shared_string(path):
    """One shared string of 1 kB in 3 x 20,000 cells: 60 MB of text from 1 MB of XML."""
    shared_strings(path, num_texts=1, num_rows=20_000)


BOMBS = {
    "v.csv.gz": (text_gz, read_votes), "v.jsonl.gz": (jsonl_gz, read_votes), "v.parquet": (parquet, read_votes),
    "v.xlsx": (xlsx, read_votes), "p.npz": (npz, read_predictions), "text.parquet": (repeated_text, read_votes),
    "delta.parquet": (repeated_text_delta, read_votes), "lists.parquet": (repeated_numbers, read_predictions),
    "shared.xlsx": (shared_strings, read_votes), "decisions.parquet": (repeated_text, audit_files.read_decisions),
    "short.csv.gz": (short_rows, read_votes), "one.jsonl.gz": (one_record, read_votes),
    "one.json.gz": (one_element, read_votes),
    "cells.xlsx": (one_shared_string, read_votes), "m.parquet": (parquet, lambda path: read_parquet(path, ["a", "b"])),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_beyond_the_limit_is_refused(tmp_path, monkeypatch, name):
    write, read = BOMBS[name]
    write(tmp_path / name)
    limit = 20_000_000 if name == "cells.xlsx" else 500_000  # the former is above five times its XML
    monkeypatch.setenv(VARIABLE, f"{limit}B")
    with refused(VARIABLE) as caught:
        read(tmp_path / name)
    assert caught.value.value > limit
    assert VARIABLE in caught.value.fix


@pytest.mark.parametrize("form", ["cells", "counts"])
def test_counts_that_stand_for_more_votes_than_the_limit_are_refused_before_they_are_unpacked(tmp_path, form):
    """3.5 MB of counts of 100,000 are 5 billion votes, and would take 200 GB."""
    rows = range(50_000)
    if form == "cells":
        text = "".join(f'{{"item":"i{t}","label_counts":{{"a":100000}}}}\n' for t in rows)
    else:
        text = "item,a,b\n" + "".join(f"i{t},100000,{t % 2}\n" for t in rows)
    path = tmp_path / ("v.jsonl" if form == "cells" else "v.csv")
    path.write_text(text)
    with refused(VARIABLE) as caught:
        read_votes(path, format=form)
    assert caught.value.value > 2 * 10**9
    assert caught.value.rule and VARIABLE in caught.value.fix


def test_a_file_that_is_not_packed_is_read_whatever_its_size(tmp_path, monkeypatch):
    np.savez(tmp_path / "p.npz", probs=np.full((1000, 2), 0.5))
    monkeypatch.setenv(VARIABLE, "1KB")
    assert len(read_predictions(tmp_path / "p.npz").tables) == 1


@pytest.mark.parametrize("text", ["", "many", "-3GB", "0", "3XB"])
def test_a_size_that_is_none_is_refused(text):
    with refused(VARIABLE):
        parse_size(text)


def test_ragged_rows_are_listed_up_to_a_number_and_counted_beyond_it(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.tables.readers.delimited.MOST_RAGGED", 10)
    monkeypatch.setattr("quorate.tables.readers.delimited.BLOCK_BYTES", 256)
    (tmp_path / "v.csv").write_text("item,worker,label\n" + "1,a,x\nbad\nbad\n2,b,\n" * 50)
    report = read_votes(tmp_path / "v.csv").report
    assert report.count("unreadable") == 100
    assert sum(len(entry.rows) for entry in report.entries if entry.rule == "unreadable") == 10
    assert report.num_set_aside == report.count("unreadable") + report.count("no-answer") + report.count("duplicate")
    blank = np.sort(np.concatenate([entry.rows for entry in report.entries if entry.rule == "no-answer"]))
    assert blank.tolist() == list(range(5, 205, 4))


def test_parquet_is_read_in_small_parts_and_as_it_was_stored(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.packed_files.BLOCK_BYTES", 2000)
    texts = [None if n % 7 == 0 else f"text {n % 20}" for n in range(1000)]
    table = pa.table(
        {
            "a.b": texts,
            "category": pa.array(texts).dictionary_encode(),
            "n": range(1000),
            "s": [{"cat": "0.5"}] * 1000,
            "words": [["p", "q"]] * 1000,
        }
    )
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=300)
    parts = list(parquet_batches(tmp_path / "v.parquet"))
    assert pa.Table.from_batches(parts).equals(table)
    assert max(part.num_rows for part in parts) < 100
    assert next(parquet_batches(tmp_path / "v.parquet", ["n", "a.b"])).schema.names == ["n", "a.b"]
    monkeypatch.setenv(VARIABLE, "50KB")  # less than 600 texts that are as long as all that is stored
    assert {part["words"].null_count == part.num_rows for part in parquet_batches(tmp_path / "v.parquet")} == {True}


MEASURE = """
import json, os, resource, sys
from quorate.tables import read_predictions, read_votes
from quorate.tables.readers.open_files import open_file
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
for name in sys.argv[1:]:
    if os.fork() == 0:
        before, found = peak(), None
        try:
            (read_predictions if name.endswith(".npz") else read_votes)(name)
        except ValueError as problem:
            found = problem.value
        print(json.dumps([found, peak() - before]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_peak_memory_stays_near_the_limit(tmp_path):
    limit = 10_000_000
    (tmp_path / "v.csv.gz").write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,cat\n" * 8_000_000, 1))
    np.savez_compressed(tmp_path / "p.npz", probs=np.zeros((5_000_000, 2)))
    repeated_text(tmp_path / "v.parquet")
    shared_strings(tmp_path / "v.xlsx", num_texts=60_000)
    one_shared_string(tmp_path / "cells.xlsx")
    names = [str(tmp_path / name) for name in ("v.csv.gz", "p.npz", "v.parquet", "v.xlsx", "cells.xlsx")]
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, *names], env={**os.environ, VARIABLE: f"{limit}B"}, capture_output=True,
        check=True, text=True,
    )  # fmt: skip
    sizes = dict(zip(names, map(json.loads, told.stdout.splitlines()), strict=True))
    assert all(value > limit and grown < 50_000_000 for value, grown in sizes.values()), sizes  # each is 60 MB or more


RNG = np.random.default_rng(7)
ARRAYS = {
    "votes": RNG.integers(3, size=(40, 5)).astype(np.int8),
    "probs": RNG.dirichlet(np.ones(3), size=(2, 40)).astype(np.float32),
    "models": np.array(["resnet", "vgg"]),
    "classes": np.array(["a", "b", "c"]),
    "is_post_shift": np.arange(40) >= 20,
}
SAVE = {"stored": np.savez, "compressed": np.savez_compressed}


def packed(header, data=b""):
    """An .npy with this header text."""
    text = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("kind", SAVE)
def test_an_npz_with_a_flipped_byte_is_refused_or_still_right(tmp_path, kind):
    file = tmp_path / "set.npz"
    SAVE[kind](file, **ARRAYS)
    whole, right = file.read_bytes(), checksum(load_npz(file))
    refused = 0
    for place in np.unique(np.r_[0:60, RNG.integers(len(whole), size=500), len(whole) - 300 : len(whole)]):
        bad = bytearray(whole)
        bad[place] ^= 1 << int(RNG.integers(8))
        file.write_bytes(bad)
        try:
            assert checksum(load_npz(file)) == right, place
        except InvalidInput as problem:
            assert "set.npz" in str(problem)
            refused += 1
    assert refused > 300


def test_an_npy_with_a_flipped_or_lost_byte_is_read_or_refused(tmp_path):
    """An .npy has no checksum: a flipped bit in the numbers cannot be detected, one in the header must do no harm."""
    file = tmp_path / "set.npy"
    np.save(file, ARRAYS["probs"])
    whole = file.read_bytes()
    for place in range(0, 128):
        for bit in range(8):
            bad = bytearray(whole)
            bad[place] ^= 1 << bit
            file.write_bytes(bad)
            try:
                assert plain_arrays(file).nbytes == ARRAYS["probs"].nbytes
            except InvalidInput as problem:
                assert "set.npy" in str(problem)
    for length in range(0, len(whole), 37):
        file.write_bytes(whole[:length])
        with refused("source", value=str(file)):
            plain_arrays(file)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,",  # tokenize.TokenError
        "{'descr': '<f8' 'shape' 3}",  # SyntaxError
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 10000000000)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "(" * 5000,
    ],
)
def test_a_malformed_header_is_refused(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(packed(header, bytes(24)))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("votes.npy", packed(header, bytes(24)))
    for name in ("x.npy", "x.npz"):
        with refused("source", value=str(tmp_path / name)):
            plain_arrays(tmp_path / name)


def test_a_header_that_claims_a_huge_array_takes_no_memory(tmp_path):
    claims = packed("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 2)}", bytes(24))
    (tmp_path / "x.npy").write_bytes(claims)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("votes.npy", claims)
    for name in ("x.npy", "x.npz"):
        tracemalloc.start()
        with pytest.raises(InvalidInput):
            plain_arrays(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 500_000
        tracemalloc.stop()


def test_a_flip_in_an_array_that_no_loader_wants_is_noticed_too(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, **ARRAYS, more=np.arange(1000))
    whole = bytearray(file.read_bytes())
    whole[whole.index(np.arange(500, 510).tobytes())] ^= 1
    file.write_bytes(whole)
    with pytest.raises(InvalidInput) as caught:
        load_npz(file)
    assert "CRC" in caught.value.rule
