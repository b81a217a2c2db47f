"""JSON files -> their records one by one, never the whole file at once: lines of JSONL, elements of a JSON array.

Numbers stay as they are written (ids of twenty digits survive). Called by `open_files` and `label_studio`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from quorate.errors import InvalidInput
from quorate.tables.readers.arrow import Counted, pa
from quorate.tables.readers.csv_files import encoding_of
from quorate.unpacked import max_size, too_large
from quorate.validate import broken

CHUNK = 1 << 20
FIRST = 1 << 23  # characters of the first records, unless the first has more
IN_MEMORY = 30  # bytes that a character of a record may take once it is decoded: of many small lists
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=lambda name: None)


def records(path: Path) -> Iterator[tuple[int, Any, int]]:
    """(number from 1, record, bytes read so far); a record that is not a JSON object comes as None.

    A record that could take more memory than `quorate.unpacked.max_size` allows is refused.
    """
    return ((number, record, done) for number, record, done, _ in _sized(path))


def _sized(path: Path) -> Iterator[tuple[int, Any, int, int]]:
    """The same, with the characters of each record."""
    try:
        with pa.OSFile(str(path)) as raw, pa.input_stream(raw, compression=_compression(path)) as stream:
            text = _text(Counted(stream, path) if _compression(path) else stream, encoding_of(_first_bytes(path))[0])
            each = _lines(text, path) if is_lines(path) else _elements(text, path)
            for number, record, size in each:
                yield number, record if isinstance(record, dict) else None, raw.tell(), size
    except InvalidInput:
        raise
    except (UnicodeError, OSError) as cause:
        raise broken("source", str(path), f"JSON in UTF-8 ({cause})", "save it again.") from cause


def is_lines(path: Path) -> bool:
    """Whether the file's name says one record per line."""
    return any(suffix.lower() in (".jsonl", ".ndjson") for suffix in path.suffixes)


def has_mark(path: Path) -> bool:
    """Whether the file begins with a byte-order mark."""
    return encoding_of(_first_bytes(path))[1]


def first_records(path: Path, most: int = 1000) -> list[dict[str, Any]]:
    """The first readable records, to see what is in them."""
    found: list[dict[str, Any]] = []
    length = 0
    for number, record, _, size in _sized(path):
        length += size
        if record is not None:
            found.append(record)
        if number >= most or (found and length >= FIRST):
            break
    return found


def plain(value: object) -> str | None:
    """A JSON value as the text of a cell.

    >>> plain(True), plain(None), plain("7"), plain({"a": "1"})
    ('true', None, '7', '{"a": "1"}')
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())


def _first_bytes(path: Path) -> bytes:
    with pa.OSFile(str(path)) as raw, pa.input_stream(raw, compression=_compression(path)) as stream:
        return bytes(stream.read(4))


def _text(stream: pa.NativeFile, encoding: str) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, errors="strict")


def _lines(text: TextIO, path: Path) -> Iterator[tuple[int, Any, int]]:
    most = max_size() // IN_MEMORY
    for number, line in enumerate(iter(lambda: text.readline(most + 1), ""), start=1):
        if len(line) > most:
            raise too_large(path, IN_MEMORY * len(line), max_size())
        if not line.strip():
            yield number, {}, len(line)
            continue
        try:
            yield number, _DECODER.decode(line), len(line)
        except (ValueError, RecursionError):
            yield number, None, len(line)


def _elements(text: TextIO, path: Path) -> Iterator[tuple[int, Any, int]]:
    """The elements of one JSON array, decoded as they come."""
    most = max(1, max_size() // IN_MEMORY)
    chunk = min(CHUNK, most)
    buffer = text.read(chunk).lstrip()
    if not buffer.startswith("["):
        rule = "a JSON array of records, which begins with ["
        raise broken("source", str(path), rule, "if it has a record per line, rename it to .jsonl.")
    buffer, number = buffer[1:], 0
    while True:
        buffer = buffer.lstrip().removeprefix(",").lstrip()
        if buffer.startswith("]"):
            return
        try:
            record, end = _DECODER.raw_decode(buffer)
        except RecursionError as cause:
            rule = f"plain records; record {number + 1} is nested too deeply"
            raise broken("source", str(path), rule, "take it out.") from cause
        except ValueError as cause:
            if len(buffer) > most:
                raise too_large(path, IN_MEMORY * len(buffer), max_size()) from cause
            more = text.read(max(chunk, len(buffer)))  # doubling: a large record is not decoded again and again
            if not more:
                rule = f"a JSON array of records; record {number + 1} is broken ({cause})"
                raise broken("source", str(path), rule, "export it again.") from cause
            buffer += more
            continue
        number, buffer = number + 1, buffer[end:]
        yield number, record, end
