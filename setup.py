"""The compiled core (core/build.py) and the published description. The rest: pyproject.toml."""

import re
import runpy
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
CORE = runpy.run_path(str(HERE / "core" / "build.py"))
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!\w+:)([^)\s]+)\)")


class Library(build_ext):
    """One shared library that ctypes loads."""

    def get_ext_filename(self, name: str) -> str:
        """Without the version of Python in it."""
        return str(Path(*name.split(".")[:-1], CORE["LIBRARY"]))

    def build_extension(self, extension: Extension) -> None:
        """Compile and link all of core/."""
        CORE["build"](Path(self.get_ext_fullpath(extension.name)))


class Wheel(bdist_wheel):
    """One wheel per platform, for every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """No version of Python, no ABI."""
        return "py3", "none", super().get_tag()[2]


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
    setup(
        long_description=description(),
        long_description_content_type="text/markdown",
        ext_modules=[Extension("quorate._core", sorted(str(each) for each in Path("core").glob("*.cpp")))],
        cmdclass={"build_ext": Library, "bdist_wheel": Wheel},
        setup_requires=CORE["needs"](),
    )
