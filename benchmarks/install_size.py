"""The size of a new environment with each extra: `make sizes` prints the table of docs/howto/install.md.

Each row is a separate environment, created by uv from the built wheel, so shared packages are counted in each. Sizes
are those of the installed files, without byte code.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

EXTRAS = (
    "", "plot", "tables", "service", "postgres", "inspect", "mlflow", "sklearn", "data", "reproduce", "cluster",
    "peers",
)  # fmt: skip
LARGEST = 4  # packages named in a row


def sizes(site: Path) -> Counter[str]:
    """Megabytes of each top-level package, including the libraries in its wheel (numpy.libs)."""
    found: Counter[str] = Counter()
    for path in site.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(site).parts[0].split(".libs")[0].split("-")[0]
            found[name.removesuffix(".py")] += path.stat().st_size
    return found


def row(uv: str, wheel: Path, extra: str, folder: Path) -> str:
    place = folder / (extra or "base")
    wanted = f"{wheel.absolute()}[{extra}]" if extra else str(wheel.absolute())
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", place / "bin" / "python", wanted], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    found, number = sizes(site), len(list(site.glob("*.dist-info")))
    largest = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in found.most_common(LARGEST))
    name = f"`quorate[{extra}]`" if extra else "`quorate`"
    return f"| {name} | {number} | {found.total() / 1e6:.0f} | {largest} |"


def main() -> None:
    uv, wheel = sys.argv[1], next(Path("dist").glob("*.whl"))
    print("| install | packages | MB | the largest, MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for extra in EXTRAS:
            print(row(uv, wheel, extra, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
