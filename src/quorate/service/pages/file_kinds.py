"""The bytes of a dropped file -> its text; or what it is instead of a table, in words. Called by `item_files`."""

from __future__ import annotations

from quorate.errors import InvalidInput

KINDS = (  # how files begin that people drop by mistake
    (b"%PDF", "a PDF", ""),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook", " In a spreadsheet, save it as CSV UTF-8."),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", " In a spreadsheet, save it as CSV UTF-8."),
    (b"\x1f\x8b", "a compressed file", " Unpack it first."),
    (b"\x89PNG", "a PNG image", ""),
    (b"\xff\xd8\xff", "a JPEG image", ""),
    (b"GIF8", "a GIF image", ""),
    (b"PAR1", "a Parquet file", " Write it as CSV or JSON lines."),
    (b"SQLite format 3", "a database", " Export it as CSV."),
)
MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16


def text_of(content: bytes) -> str:
    """The text, if it is some.

    >>> text_of(b"id,text"), text_of(b"\\xef\\xbb\\xbfid")
    ('id,text', 'id')
    """
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        raise InvalidInput("The file is empty.")
    for start, name, fix in KINDS:
        if content.startswith(start):
            raise InvalidInput(f"This is {name}, not a table.{fix}")
    is_wide = content[:2] in MARKS
    if not is_wide and b"\0" in content:
        raise InvalidInput("This is a binary file, not a table.")
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8 text; save it as UTF-8 (in a spreadsheet: CSV UTF-8).") from None
