"""The built wheel on each Python it claims: installed in a new environment, every module imported, the fast tests run.

`make test-pythons` calls this. A Python that is not on this
machine is reported and left out, and one of them must be there.
"""

import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = [
    line.rpartition(" ")[2]
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    if line.startswith("Programming Language :: Python :: 3.")
]
EXTRAS = "postgres,plot"
TEST_TOOLS = ["pytest", "pytest-cov", "pytest-timeout", "hypothesis", "mpmath", "scipy"]
FAST = [
    "tests/quorate/test_errors.py", "tests/quorate/test_files.py", "tests/quorate/test_methods.py",
    "tests/quorate/test_packed_files.py", "tests/quorate/test_reasons.py", "tests/quorate/test_rng.py",
    "tests/quorate/test_types.py", "tests/quorate/test_validate.py",
    "tests/quorate/model/test_prior.py", "tests/core", "tests/quorate/model/posterior/test_settled.py",
    "tests/quorate/session/test_journal.py", "README.md", "tests/package/test_imports.py",
]  # fmt: skip


def interpreter(version: str) -> Path | None:
    """Where that Python is: on the path, or among pyenv's; a shim that leads nowhere does not count."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = sys.executable if version == f"{sys.version_info.major}.{sys.version_info.minor}" else None
    for candidate in (own, f"python{version}", *sorted(folder.glob(f"{version}.*/bin/python"))):
        try:
            if candidate and not subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode:
                return Path(candidate)
        except OSError:
            continue
    return None


def run(*call: object, **environment: str) -> str:
    """The last line that a command printed; all of it, and the end, if it fails."""
    done = subprocess.run(
        [str(part) for part in call], cwd=ROOT, env=os.environ | environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stdout}\n{call[0]} failed with status {done.returncode}")
    return (done.stdout.strip().splitlines() or ["done"])[-1]


def tested(version: str, found: Path | None, uv: Path, wheel: Path, home: Path) -> str:
    """What came of one version."""
    if found is None:
        return f"Python {version}: not on this machine, left out"
    python = home / version / "bin" / "python"
    run(uv, "venv", "--quiet", "--clear", "--python", found, home / version)
    run(uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[{EXTRAS}]", *TEST_TOOLS)
    said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FAST)
    return f"Python {version}: {said}"


def main(uv: Path, wheel: Path, home: Path) -> None:
    """Every version, as many at once as there are processors."""
    os.environ.pop("PYTHONPATH", None)
    found = {version: interpreter(version) for version in VERSIONS}
    if not any(found.values()):
        sys.exit(f"none of the Pythons {', '.join(VERSIONS)} is on this machine")
    print(f"{wheel.name}, with nothing but its extras {EXTRAS} and pytest", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(lambda each: tested(*each, uv, wheel, home), found.items()):
            print(said, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), next(Path("dist").glob("*.whl")).absolute(), Path(sys.argv[2]).absolute())
