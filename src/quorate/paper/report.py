"""The reproduction as one HTML page: what was reproduced and what was not, then every table and figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape

from quorate.paper.exports import DrawnFigure
from quorate.paper.section import (
    OTHER_VERDICTS,
    OWN_VERDICTS,
    VERDICTS,
    Cell,
    Claim,
    Figure,
    Part,
    Reproduction,
    Table,
    verdict_counts,
)
from quorate.paper.store import revision
from quorate.reports.style import PAGE_STYLE
from quorate.version import __version__

REPORT_STYLE = (
    PAGE_STYLE
    + """
:root { --good: #00664b; --bad: #a33a00; --card: #f5f7fa; }
@media (prefers-color-scheme: dark) { :root { --good: #4fd1a5; --bad: #ff9d66; --card: #1c222b; } }
body { max-width: 60rem; overflow-wrap: break-word; }
a { color: inherit; text-underline-offset: .15em; }
h2 { font-size: 1.4rem; margin-top: 3rem; padding-top: .8rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .3rem; line-height: 1.3; }
nav { background: var(--card); border-radius: 8px; padding: .6rem 1rem; margin: 1rem 0; }
nav ul { list-style: none; padding: 0; margin: 0; } nav li { margin: .2rem 0; }
nav h2 { font-size: 1rem; border: 0; margin: 0 0 .3rem; padding: 0; }
nav details { margin: .1rem 0 .3rem; } nav details li { margin: .1rem 0 .1rem 1rem; font-size: .88rem; }
code { font: .85em ui-monospace, monospace; background: var(--card); padding: .1rem .35rem; border-radius: 4px; }
.counts { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; }
.counts li { background: var(--card); border-radius: 8px; padding: .5rem .9rem; margin: 0; }
.counts b { display: block; font-size: 1.35rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.claims { list-style: none; padding: 0; }
.claims li { border-left: 4px solid var(--good); padding: .1rem 0 .1rem .8rem; margin: .7rem 0; }
.claims li.fails { border-color: var(--bad); }
.claims b, .claims .measured { display: block; }
.claims .measured { color: var(--quiet); font-size: .9rem; }
.yes { color: var(--good); font-weight: 600; } .no { color: var(--bad); font-weight: 600; }
.caution, .quick { background: var(--card); border-left: 4px solid var(--bad); border-radius: 4px;
                   padding: .5rem .9rem; }
.caution ul { margin: .2rem 0; }
figure { margin: 1.2rem 0; } figcaption { color: var(--quiet); font-size: .9rem; margin-top: .3rem; }
.picture { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
.picture img { max-width: none; display: block; }
.scroll { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; max-height: 40rem; overflow: auto; }
.scroll table { font-size: .84rem; border-collapse: separate; border-spacing: 0; }
:is(.scroll, .picture, summary):focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
caption { padding: .4rem .5rem; position: sticky; left: 0; }
thead th { position: sticky; top: 0; background: var(--card); z-index: 1; min-width: 3.2rem; }
th[scope=row], thead th:first-child { position: sticky; left: 0; background: var(--paper); text-align: left;
                                      z-index: 1; }
thead th:first-child { z-index: 2; background: var(--card); }
th[scope=row] { font-weight: 400; vertical-align: top; min-width: 9rem; max-width: 22rem; }
caption.unseen { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
.text { text-align: left; }
tr.ours th[scope=row], tr.ours td { background: var(--ours); font-weight: 600; }
tr:last-child td, tr:last-child th { border-bottom: 0; }
thead tr:last-child th { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; padding: .3rem 0; } summary b { font-weight: 600; }
.made { margin: .3rem 0 1.2rem; font-size: .84rem; color: var(--quiet); }
@media (max-width: 40rem) {
  body { padding: .8rem; font-size: 15px; } .claims li { padding-left: .6rem; }
  .picture img { width: 44rem; }
  th[scope=row] { min-width: 6.5rem; max-width: 8.5rem; }
}
@media print {
  :root { --ink: #000; --paper: #fff; --quiet: #444; --line: #bbb; --ours: #eef4fa; --card: #f5f7fa;
          --good: #00553e; --bad: #8a3000; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .picture { overflow: visible; border: 0; } .picture img { width: 100%; }
  .scroll { max-height: none; overflow: visible; border: 0; } .scroll table { font-size: 7.5pt; }
  th, td { padding: .1rem .25rem; } thead th, th[scope=row], caption { position: static; }
  h2, h3, summary { break-after: avoid; } figure, .claims li, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; display: block; }
}
"""
)


TITLE = "The paper, reproduced"
LONG_TABLE = 24  # rows beyond which a table is folded away
QUICK = (
    "This is a quick reproduction: fewer items, knob values, classifiers, seeds and orderings, to see that all works. "
    "Run it without --quick for the figures to quote."
)
VERDICT_CLASSES = {"agrees": "yes", "better": "yes", "not reproduced": "no"}  # on other classifiers: neither


def page(done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> str:
    """The whole page; `drawn` by the stem of each figure's file."""
    body = "\n".join(_section(part, done, drawn) for part in done.parts)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{TITLE}: quorate {__version__}</title><style>{REPORT_STYLE}</style></head><body>
<header><h1>{TITLE}</h1>
<p class="headline">{escape(headline(done))}</p>{_quick(done)}</header>
{_contents(done)}
<main>
<section aria-labelledby="summary"><h2 id="summary">Summary</h2>
{_counts(done)}{_left_out(done)}{_all_claims(done)}{_verdicts(done)}{_times(done)}</section>
{body}
</main>
<footer>{_birth(done)}</footer>
</body></html>
"""
    return text.replace(" %", "\u00a0%")  # no line ends between 3.1 and %


def headline(done: Reproduction) -> str:
    """What came of it, in a sentence or two: cells on the paper's own classifiers first, the others apart."""
    held = sum(claim.holds for claim in done.claims)
    cells = _all_verdicts(done)
    said = [f"{held} of {len(done.claims)} claims hold on the data."] if done.claims else []
    if own := sum(cells[name] for name in OWN_VERDICTS):
        said.append(
            f"Of {own} table cells set beside the paper's figures on its own classifiers, {cells['agrees']} agree, "
            f"{cells['better']} are better and {cells['not reproduced']} are not reproduced."
        )
    agree, better, differ = (cells[name] for name in OTHER_VERDICTS)
    if others := agree + better + differ:
        said.append(
            f"On other classifiers, where nothing can be reproduced: of {others} cells {agree} agree, {better} are "
            f"better and {differ} differ."
        )
    return " ".join(said) or "No claim could be tested on the data that was there."


def number(cell: Cell, digits: int) -> str:
    """A cell as people read it.

    >>> number(0.12345, 2), number(None, 2), number("mp", 2), number(7, 2), number(float("inf"), 1)
    ('0.12', '–', 'mp', '7', '∞')
    """
    if cell is None:
        return "–"
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return "–"
    if math.isinf(cell):
        return "∞" if cell > 0 else "−∞"
    text = f"{cell:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def _quick(done: Reproduction) -> str:
    return f'<p class="quick"><strong>Quick.</strong> {QUICK}</p>' if done.quick else ""


def _contents(done: Reproduction) -> str:
    entries = "".join(
        f'<li><a href="#{escape(part.name)}">{escape(part.section.title)}</a>{_inside(part)}</li>'
        for part in done.parts
    )
    return f"""<nav aria-labelledby="contents"><h2 id="contents">Contents</h2>
<ul><li><a href="#summary">Summary</a></li>{entries}</ul></nav>"""


def _inside(part: Part) -> str:
    """Links to a section's tables and figures, folded."""
    section = part.section
    things = [(f"figure-{part.stem(figure.key)}", figure.title) for figure in section.figures]
    things += [(f"table-{part.stem(table.key)}", table.title) for table in section.tables]
    if not things:
        return ""
    links = "".join(f'<li><a href="#{escape(anchor)}">{escape(title)}</a></li>' for anchor, title in things)
    count = f"{_plural(len(section.figures), 'figure')}, {_plural(len(section.tables), 'table')}"
    return f"<details><summary class=quiet>{count}</summary><ul>{links}</ul></details>"


def _plural(many: int, what: str) -> str:
    return f"{many} {what}{'' if many == 1 else 's'}"


def _counts(done: Reproduction) -> str:
    """The figures of the summary, each with its word."""
    held, cells = sum(claim.holds for claim in done.claims), _all_verdicts(done)
    shown = [(f"{held} of {len(done.claims)}", "claims hold")] if done.claims else []
    shown += [(str(cells[name]), f"cells: {name}") for name in OWN_VERDICTS if any(cells[own] for own in OWN_VERDICTS)]
    shown.append((f"{done.num_run + done.num_stored:,}", f"runs, seeds {_seeds(done)}"))
    return '<ul class="counts">' + "".join(f"<li><b>{value}</b> {escape(what)}</li>" for value, what in shown) + "</ul>"


def _seeds(done: Reproduction) -> str:
    return ", ".join(str(seed) for seed in done.seeds)


def _left_out(done: Reproduction) -> str:
    if not done.left_out:
        return ""
    return f'<div class="caution"><strong>Left out for want of data</strong>{_list(done.left_out)}</div>'


def _list(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def _all_claims(done: Reproduction) -> str:
    failed = [claim for claim in done.claims if not claim.holds]
    held = [claim for claim in done.claims if claim.holds]
    said = ""
    if failed:
        said += f"<h3>What does not hold</h3>{_claims(failed)}"
    if held:
        said += f"<h3>What holds</h3>{_claims(held)}"
    return said


def _claims(claims: Iterable[Claim]) -> str:
    rows = "".join(
        f'<li{"" if claim.holds else " class=fails"}><b class="{"yes" if claim.holds else "no"}">'
        f"{'✓ Holds' if claim.holds else '✗ Does not hold'}</b>{escape(claim.text)}"
        f'<span class="measured">Measured: {escape(claim.measured)}</span></li>'
        for claim in claims
    )
    return f'<ul class="claims">{rows}</ul>' if rows else ""


def _all_verdicts(done: Reproduction) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in done.parts:
        for table in part.section.tables:
            total.update(verdict_counts(table))
    return total


def _verdicts(done: Reproduction) -> str:
    """Verdicts counted by table."""
    rows: list[tuple[Cell, ...]] = [
        (table.title, *(counts.get(name, 0) for name in VERDICTS))
        for part in done.parts
        for table in part.section.tables
        if (counts := verdict_counts(table))
    ]
    if not rows:
        return ""
    table = Table("verdicts", "Cells beside the paper's figures, by table", ("table", *VERDICTS), tuple(rows))
    return f"<h3>Verdicts by table</h3>{_grid(table)}"


def _times(done: Reproduction) -> str:
    rows: list[tuple[Cell, ...]] = [
        (part.section.title, part.seconds, part.num_run, part.num_stored, part.work_seconds) for part in done.parts
    ]
    work = sum(part.work_seconds for part in done.parts)
    rows.append(("tables, figures and this page", done.writing_seconds, None, None, None))
    rows.append(("all", done.seconds["total"], done.num_run, done.num_stored, work))
    heads = ("part", "seconds", "runs made now", "runs found stored", "core seconds of all runs, then or now")
    caption = f"Seconds and runs of each part; {done.runs_per_second:.1f} runs a second"
    return f"<h3>Time</h3>{_grid(Table('times', caption, heads, tuple(rows), digits=1))}"


def _section(part: Part, done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> str:
    section, anchor = part.section, escape(part.name)
    lead = "".join(f"<p>{escape(text)}</p>" for text in section.lead)
    cautions = f'<div class="caution"><strong>Mind</strong>{_list(section.cautions)}</div>' if section.cautions else ""
    claims = f"<h3>Claims</h3>{_claims(section.claims)}" if section.claims else ""
    figures = "".join(_figure(figure, part, done, drawn) for figure in section.figures)
    tables = "".join(_table(table, part, done) for table in section.tables)
    return f"""<section aria-labelledby="{anchor}"><h2 id="{anchor}">{escape(section.title)}</h2>
{lead}{cautions}{claims}{figures}{tables}</section>"""


def _figure(figure: Figure, part: Part, done: Reproduction, drawn: Mapping[str, DrawnFigure]) -> str:
    stem = part.stem(figure.key)
    return f"""<h3 id="figure-{escape(stem)}">{escape(figure.title)}</h3>
<figure><div class="picture" tabindex=0><img alt="{escape(figure.alt)}" src="{drawn[stem].data_uri}"></div>
<figcaption>{escape(figure.caption)}</figcaption></figure>
{_made(done.command(part.name), f"figures/{stem}.svg")}"""


def _made(command: str, file: str) -> str:
    return f'<p class="made">Made by <code>{escape(command)}</code>, also in <code>{escape(file)}</code></p>'


def _table(table: Table, part: Part, done: Reproduction) -> str:
    stem = part.stem(table.key)
    counts = ", ".join(f"{name} {many}" for name, many in verdict_counts(table).items())
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    verdicts = f"<p><strong>Verdicts:</strong> {counts}.</p>" if counts else ""
    grid = _grid(table, under_title=True)
    if len(table.rows) > LONG_TABLE:
        grid = f"<details><summary><b>Show all {len(table.rows)} rows</b></summary>{grid}</details>"
    return f"""<h3 id="table-{escape(stem)}">{escape(table.title)}</h3>{note}{verdicts}{grid}
{_made(done.command(part.name), f"tables/{stem}.csv")}"""


def _grid(table: Table, *, under_title: bool = False) -> str:
    """The table itself, in a box it can scroll in; under a heading that is its title the caption is for listeners."""
    is_text = [
        column < table.text_columns or any(isinstance(row[column], str) for row in table.rows)
        for column in range(len(table.heads))
    ]
    heads = "".join(
        f"<th scope=col{' class=text' if text else ''}>{escape(head)}</th>"
        for head, text in zip(table.heads, is_text, strict=True)
    )
    rows = "".join(_row(row, table, is_text) for row in table.rows)
    caption, kind = escape(table.title), " class=unseen" if under_title else ""
    return (
        f'<div class="scroll" tabindex=0 role=region aria-label="{caption}"><table><caption{kind}>{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(row: tuple[Cell, ...], table: Table, is_text: list[bool]) -> str:
    kind = " class=ours" if row[0] in table.highlight else ""
    cells = "".join(
        f"<td{_cell_class(cell, text)}>{escape(number(cell, table.digits))}</td>"
        for cell, text in zip(row[1:], is_text[1:], strict=True)
    )
    return f"<tr{kind}><th scope=row>{escape(number(row[0], table.digits))}</th>{cells}</tr>"


def _cell_class(cell: Cell, is_text: bool) -> str:
    names = ["text"] if is_text else []
    if isinstance(cell, str) and cell in VERDICT_CLASSES:
        names.append(VERDICT_CLASSES[cell])
    return f' class="{" ".join(names)}"' if names else ""


def _birth(done: Reproduction) -> str:
    """Where the page comes from: version, revision, seeds, data."""
    rows = tuple((name, checksum) for name, checksum in done.checksums.items())
    table = Table("data", "sha256 of the data used", ("data set", "sha256"), rows, text_columns=2)
    data = f"<details><summary class=quiet>Data used</summary>{_grid(table)}</details>" if rows else ""
    code = f", revision {revision()[:12]}" if revision() else ""
    return (
        f'<p class="quiet">quorate {__version__}{code}; seeds {_seeds(done)}. Every run is in runs.parquet and '
        f"runs.csv, the summary for machines in summary.json.</p>{data}"
    )
