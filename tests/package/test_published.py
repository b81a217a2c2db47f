"""What `make package` builds: the description has no relative link, the archive has what `make test` needs."""

import os
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from quorate.version import __version__
from tests.missing import missing

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
TARGET = re.compile(r"\]\(([^)\s]+)")
NOT_PUBLISHED = (".gitignore", ".github/")
setup = runpy.run_path(str(ROOT / "setup.py"))


def built(pattern: str) -> Path:
    """The one file of that name that `make package` left in dist/."""
    found = list((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        missing(f"dist/{pattern}", "make package")
    return found[0]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built("quorate-*.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built("quorate-*.whl")) as archive:
        archive.extractall(folder)
    return folder


def test_every_kind_of_relative_link_becomes_an_address():
    text = "[a](docs/a.md) ![b](b.png) [c](#here) [d](https://x.org/) [e](mailto:e@x.org) [f](docs/f.md#g)"
    assert TARGET.findall(setup["published"](text, "https://r.org/q", "1.2")) == [
        "https://r.org/q/blob/v1.2/docs/a.md", "https://r.org/q/raw/v1.2/b.png", "https://r.org/q/blob/v1.2/README.md#here",
        "https://x.org/", "mailto:e@x.org", "https://r.org/q/blob/v1.2/docs/f.md#g",
    ]  # fmt: skip


def test_the_published_description_installs_by_name():
    assert "pip install 'quorate[tables,plot]'" in setup["description"]()
    assert "pip install '." not in setup["description"]()


def test_changelog_and_citation_name_this_version():
    first = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)", first[1])
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_published_links_lead_to_files_of_this_repository():
    start = re.compile(rf"{re.escape(REPOSITORY)}/(?:blob|raw)/v{re.escape(__version__)}/([^#]+)")
    targets = TARGET.findall(setup["description"]())
    own = [found[1] for target in targets if (found := start.match(target))]
    assert len(own) > 20
    assert not [path for path in own if not (ROOT / path).exists()]
    assert not [target for target in targets if not target.startswith("https://")]


def test_the_built_description_has_no_relative_link(wheel):
    metadata = message_from_string(next(wheel.glob("*.dist-info/METADATA")).read_text())
    assert metadata["Version"] == __version__
    assert any(REPOSITORY in value for value in metadata.get_all("Project-URL"))
    body = metadata.get_payload()
    assert body.strip() == setup["description"]().strip()
    assert not re.search(r"(?:src|href)=\"(?!https:)", body)


def test_the_wheel_alone_holds_the_package(wheel):
    """Every module and data file of src/, and nothing else."""
    here = {path.relative_to(ROOT / "src") for path in (ROOT / "src").glob("quorate*/**/*") if path.is_file()}
    there = {path.relative_to(wheel) for path in wheel.glob("quorate*/**/*") if path.is_file()}
    there = {path for path in there if "dist-info" not in path.parts[0]}
    assert there == {path for path in here if "__pycache__" not in path.parts and "egg-info" not in path.parts[0]}
    names = {path.name for path in wheel.iterdir() if "dist-info" not in path.name}
    assert names == {"quorate", "quorate_paper", "quorate_service"}


def test_the_source_archive_holds_every_file_of_the_repository(unpacked):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git work tree")
    files = [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    assert not [name for name in files if not name.startswith(NOT_PUBLISHED) and not (unpacked / name).is_file()]


def test_tests_run_from_the_source_archive(unpacked):
    environment = os.environ | {"PYTHONPATH": str(unpacked / "src")}
    subprocess.run([sys.executable, unpacked / "core" / "build.py"], check=True)
    parts = [
        "tests/quorate/test_methods.py",
        "tests/quorate/session/test_journal.py",
        "README.md",
        "src/quorate/session",
    ]
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:cov", *parts]
    done = subprocess.run(call, cwd=unpacked, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert " passed" in done.stdout
