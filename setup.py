"""The published description: README.md, its links and pictures leading to the repository. The rest: pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!\w+:)([^)\s]+)\)")


def published(text: str, repository: str, version: str) -> str:
    """README.md as an index shows it: links and pictures as addresses of this version's files, installed by name."""

    def absolute(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        kind = "raw" if picture else "blob"
        path = f"README.md{target}" if target.startswith("#") else target
        return f"{picture}{words}({repository}/{kind}/v{version}/{path})"

    return LINK.sub(absolute, text).replace("pip install '.[", "pip install 'quorate[")


def description() -> str:
    """The published README of the version at hand."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r'__version__ = "(.+)"', (HERE / "src/quorate/version.py").read_text(encoding="utf-8"))
    assert version is not None
    return published((HERE / "README.md").read_text(encoding="utf-8"), project["urls"]["Repository"], version[1])


if __name__ == "__main__":
    setup(long_description=description(), long_description_content_type="text/markdown")
