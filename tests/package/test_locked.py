"""The lock file names every package of the service, with hashes and no registry; so does the bill of materials."""

import json
import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.missing import missing

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements" / "service.txt").read_text()
PINS = [(canonicalize_name(name), version) for name, version in re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE)]
LOCKED = {name for name, _ in PINS}  # some have two versions, for two Pythons


def wanted(extra: str = "") -> list[Requirement]:
    """What the package itself requires, with an extra and the extras that it names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    found = [Requirement(line) for line in lines]
    inner = [each for mine in found if mine.name == "quorate" for name in mine.extras for each in wanted(name)]
    return [*(each for each in found if each.name != "quorate"), *inner]


def test_every_requirement_of_the_service_is_locked_to_a_version_it_allows():
    requirements = [*wanted(), *wanted("postgres")]
    assert len(requirements) > 15
    for requirement in requirements:
        versions = [version for name, version in PINS if name == canonicalize_name(requirement.name)]
        assert versions, f"{requirement} is not in requirements/service.txt: run `make lock`"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement}, but {versions}: run `make lock`"


def test_what_the_locked_packages_require_is_locked_too():
    for name in ("fastapi", "standardwebhooks", "httpx", "typer"):
        inner = [Requirement(line) for line in requires(name) or ()]
        needed = [each.name for each in inner if each.marker is None]
        assert not [each for each in needed if canonicalize_name(each) not in LOCKED]


def test_every_package_has_hashes_and_none_an_address():
    blocks = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(PINS)
    assert not [block for block in blocks if "--hash=sha256:" not in block]
    assert "://" not in LOCK and "--index" not in LOCK


def test_the_bill_of_materials_holds_what_is_locked():
    if not (ROOT / "sbom.json").exists():
        missing("sbom.json", "make sbom")
    bill = json.loads((ROOT / "sbom.json").read_text())
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == "quorate"
    assert sorted((canonicalize_name(part["name"]), part["version"]) for part in bill["components"]) == sorted(PINS)
