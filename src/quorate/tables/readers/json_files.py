"""JSON files -> their records, streamed one by one: a line of JSONL, or an element of a JSON array.

Numbers are kept as written (ids of twenty digits survive). Called by `open_files` and `label_studio`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from quorate.arrow import pa
from quorate.errors import InvalidInput
from quorate.packed_files import max_size, too_large
from quorate.tables.readers.unpacked import Counted, encoding_of, packing
from quorate.validate import invalid

CHUNK = 1 << 20
FIRST = 1 << 23  # characters read by `first_records`, unless the first record is longer
IN_MEMORY = 30  # bytes of memory per character of a decoded record, at most: many small lists
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=lambda name: None)


def records(path: Path) -> Iterator[tuple[int, Any, int]]:
    """(number from 1, record, bytes read so far); the record is None if it is not a JSON object.

    Refuses a record that could take more memory than `quorate.packed_files.max_size` allows.
    """
    return ((number, record, done) for number, record, done, _ in _sized(path))


def _sized(path: Path) -> Iterator[tuple[int, Any, int, int]]:
    """As `records`, with the number of characters of each record."""
    try:
        with pa.OSFile(str(path)) as raw, pa.input_stream(raw, compression=packing(path)) as stream:
            text = _text(Counted(stream, path) if packing(path) else stream, encoding_of(_first_bytes(path))[0])
            decoded = _lines(text, path) if is_lines(path) else _elements(text, path)
            for number, record, size in decoded:
                yield number, record if isinstance(record, dict) else None, raw.tell(), size
    except InvalidInput:
        raise
    except (UnicodeError, OSError) as cause:
        raise invalid("source", str(path), f"JSON in UTF-8 ({cause})", "save it again.") from cause


def is_lines(path: Path) -> bool:
    """Whether the file has one record per line, as its ending says, or as it begins."""
    return any(suffix.lower() in (".jsonl", ".ndjson") for suffix in path.suffixes) or (
        _first_bytes(path).lstrip(b"\xef\xbb\xbf \r\n")[:1] == b"{"
    )


def first_records(path: Path, most: int = 1000) -> list[dict[str, object]]:
    """The first readable records, to detect what the file holds."""
    readable: list[dict[str, object]] = []
    length = 0
    for number, record, _, size in _sized(path):
        length += size
        if record is not None:
            readable.append(record)
        if number >= most or (readable and length >= FIRST):
            break
    return readable


def json_text(value: object) -> str | None:
    """A JSON value as the text of a cell.

    >>> json_text(True), json_text(None), json_text("7"), json_text({"a": "1"})
    ('true', None, '7', '{"a": "1"}')
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _first_bytes(path: Path) -> bytes:
    with pa.OSFile(str(path)) as raw, pa.input_stream(raw, compression=packing(path)) as stream:
        return bytes(stream.read(4))


def _text(stream: pa.NativeFile, encoding: str) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, errors="strict")


def _lines(text: TextIO, path: Path) -> Iterator[tuple[int, Any, int]]:
    longest = max_size() // IN_MEMORY
    for number, line in enumerate(iter(lambda: text.readline(longest + 1), ""), start=1):
        if len(line) > longest:
            raise too_large(path, IN_MEMORY * len(line), max_size())
        if not line.strip():
            yield number, {}, len(line)
            continue
        try:
            yield number, _DECODER.decode(line), len(line)
        except (ValueError, RecursionError):
            yield number, None, len(line)


def _elements(text: TextIO, path: Path) -> Iterator[tuple[int, Any, int]]:
    """The elements of one JSON array, decoded one by one."""
    longest = max(1, max_size() // IN_MEMORY)
    chunk = min(CHUNK, longest)
    buffer = text.read(chunk).lstrip()
    if not buffer.startswith("["):
        rule = "a JSON array of records, which begins with ["
        raise invalid("source", str(path), rule, "if it has a record per line, rename it to .jsonl.")
    buffer, number = buffer[1:], 0
    while True:
        buffer = buffer.lstrip().removeprefix(",").lstrip()
        if buffer.startswith("]"):
            return
        try:
            record, end = _DECODER.raw_decode(buffer)
        except RecursionError as cause:
            rule = f"plain records; record {number + 1} is nested too deeply"
            raise invalid("source", str(path), rule, "remove it.") from cause
        except ValueError as cause:
            if len(buffer) > longest:
                raise too_large(path, IN_MEMORY * len(buffer), max_size()) from cause
            more = text.read(max(chunk, len(buffer)))  # doubles, so that a large record is not decoded too often
            if not more:
                rule = f"a JSON array of records; record {number + 1} is broken ({cause})"
                raise invalid("source", str(path), rule, "export it again.") from cause
            buffer += more
            continue
        number, buffer = number + 1, buffer[end:]
        yield number, record, end
