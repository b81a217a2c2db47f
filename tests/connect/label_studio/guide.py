"""What docs/howto/label-studio.md tells a new user to type, read out of its text."""

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[3] / "docs" / "howto" / "label-studio.md"
SECTION = "## From installation to the first closed task"


@dataclass(frozen=True)
class Guide:
    """The blocks of the section for new users."""

    tasks: str  # a CSV file
    config: str  # of the labelling page
    install: tuple[str, ...]  # commands, to be typed in a checkout
    connect: tuple[str, ...]

    @property
    def activate(self) -> str:
        """The command that selects the environment, which every further terminal needs."""
        return next(line for line in self.install if "activate" in line)

    def typed(self, *, token: str, url: str, project: int, port: int) -> str:
        """The commands that connect, with the reader's own token, address and number instead of the guide's.

        The port is the test's: several of them may run on this machine.
        """
        *first, last = self.connect
        words = shlex.split(last)
        for option, value in (("--url", url), ("--project", str(project))):
            words[words.index(option) + 1] = value
        exported = [line.replace("=...", f"={shlex.quote(token)}") for line in first]
        assert exported != first, "the guide does not say where the token goes"
        return "\n".join([*exported, f"exec {shlex.join([*words, '--port', str(port)])}"])


def blocks(text: str, kind: str) -> list[str]:
    found = re.findall(rf"^ *```{kind}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(each).strip("\n") for each in found]


def commands(block: str) -> tuple[str, ...]:
    """Its lines behind a `$`, each with what follows a backslash at its end."""
    whole = re.sub(r"\\\n\s*", "", block)
    return tuple(line.strip()[2:] for line in whole.splitlines() if line.strip().startswith("$ "))


def read() -> Guide:
    text = FILE.read_text()
    section = text.split(f"{SECTION}\n", 1)[1].split("\n## ", 1)[0]
    install, connect = map(commands, blocks(section, "console"))
    [tasks], [config] = blocks(section, "csv"), blocks(section, "xml")
    return Guide(tasks, config, install, connect)
