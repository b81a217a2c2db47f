"""The look of every page we write: one style sheet, no scripts, light and dark, readable on a phone.

Text on its ground has a contrast of at least 4.5. Used by `report` here and by the experiments' report.
"""

from __future__ import annotations

PAGE_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fff; --quiet: #5c6675; --line: #dde2e9; --ours: #e8f2fb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --paper: #14181f; --quiet: #9aa5b4; --line: #313a47; --ours: #17324a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.2rem; font: 16px/1.55 system-ui, sans-serif;
       color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .6rem 0; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .4rem; }
p { margin: .5rem 0; } .quiet { color: var(--quiet); font-size: .88rem; }
.headline { font-size: 1.12rem; border-left: 4px solid #0072B2; padding: .3rem 0 .3rem .9rem; }
.verdict { font-weight: 600; }
img { width: 100%; max-width: 38rem; height: auto; background: #fff; border-radius: 8px; padding: .4rem; }
.scroll { overflow-x: auto; margin-top: 1.2rem; }
ul { margin: .5rem 0; padding-left: 1.1rem; } li { margin: .35rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: .3rem 0; }
th, td { text-align: right; padding: .28rem .5rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; white-space: normal; }
tr.ours td { background: var(--ours); font-weight: 600; } tr.reference td { color: var(--quiet); }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; }
"""
