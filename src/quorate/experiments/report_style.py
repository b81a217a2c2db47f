"""The style sheet of the reproduction's page: the shared look, and what wide tables, claims and print need."""

from __future__ import annotations

from quorate.workflows.page_style import PAGE_STYLE

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
