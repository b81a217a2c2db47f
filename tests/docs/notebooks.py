"""Runs notebooks cell by cell with plain Python: `python -m tests.docs.notebooks FILE ...` stores what they print."""

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def outputs_of(notebook):
    """What each code cell prints, and the text of its last line if that is an expression."""
    names: dict[str, object] = {"__name__": "notebook"}
    return [run_cell("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(source, names):
    tree, printed = ast.parse(source), io.StringIO()
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        shown = None if last is None else eval(compile(last, "<cell>", "eval"), names)
    return printed.getvalue() + ("" if shown is None else f"{shown!r}\n")


def stored(notebook):
    """The texts that the file has as outputs."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(output["text"]) for output in cell["outputs"]) for cell in cells]


def main(paths):
    for path in map(Path, paths):
        notebook = json.loads(path.read_text())
        found = iter(outputs_of(notebook))
        for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            text = next(found).splitlines(keepends=True)
            cell["execution_count"] = number + 1
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text}] if text else []
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
