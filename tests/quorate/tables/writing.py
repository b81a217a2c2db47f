"""Small tables written as every kind of file; shared by the tests of `quorate.tables`."""

import csv
import io
import json

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq


def write_csv(path, header, rows, *, delimiter=",", encoding="utf-8"):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([header, *[["" if cell is None else cell for cell in row] for row in rows]])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def write_jsonl(path, header, rows):
    path.write_text("".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path, header, rows):
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    pq.write_table(pa.table({name: pa.array(list(cells)) for name, cells in zip(header, columns, strict=True)}), path)
    return path


def write_xlsx(path, header, rows):
    book = openpyxl.Workbook()
    for row in [header, *rows]:
        book.active.append(list(row))
    book.save(path)
    return path


WRITERS = {".csv": write_csv, ".jsonl": write_jsonl, ".parquet": write_parquet, ".xlsx": write_xlsx}


def write(path, header, rows):
    return WRITERS[path.suffix](path, header, rows)


def vote_rows(joined):
    """The votes as (item, worker, label), in recorded order."""
    table = joined.vote_table("pyarrow").to_pydict()
    return list(zip(table["task"], table["worker"], table["label"], strict=True))


def rejected(report, path):
    """The rejects file, read back: (row, rule) of each row, sorted."""
    report.write_rejects(path)
    with path.open(encoding="utf-8", newline="") as file:
        return sorted((int(row["row"]), row["rule"]) for row in csv.DictReader(file))
