"""What docs/howto/label-studio.md tells a new user to type and to click, read out of its text."""

import re
import shlex
import textwrap
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FILE = Path(__file__).parents[3] / "docs" / "howto" / "label-studio.md"
SECTION = "## From installation to the first closed task"


class Label(StrEnum):
    """What buttons, tabs and menus are called that a person clicks, in the order in which the guide names them."""

    LOG_IN = "Log in"
    HOME = "Home"
    CREATE_PROJECT = "Create Project"
    PROJECT_NAME = "Project Name"
    DATA_IMPORT = "Data Import"
    UPLOAD = "Upload Files"
    TASKS = "List of tasks"
    SETUP = "Labeling Setup"
    CUSTOM = "Custom template"
    SAVE = "Save"
    ACCOUNT = "Account & Settings"
    TOKENS = "Personal Access Token"
    NEW_TOKEN = "Create New Token"
    COPY = "Copy"
    SIGN_IN = "Sign in"
    INVITE = "Invite Members"
    COPY_LINK = "Copy link"
    CREATE_ACCOUNT = "Create Account"
    LABEL_ALL = "Label All Tasks"
    SUBMIT = "Submit"


@dataclass(frozen=True)
class Guide:
    """The section for new users: its blocks, and the names in its text."""

    emphasised: tuple[str, ...]  # `*labels*` in the order of the text
    file: str
    name: str  # of the project
    columns: tuple[str, ...]  # that the Data Manager has at the end
    printed: str  # what the command that connects prints, in the guide's example
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


def emphasised(text: str) -> tuple[str, ...]:
    """What stands between single asterisks, outside of code."""
    prose = re.sub(r"^ *```.*?^ *```$|`[^`]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return tuple(" ".join(each.split()) for each in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", prose.replace("**", "")))


def read() -> Guide:
    text = FILE.read_text()
    section = text.split(f"{SECTION}\n", 1)[1].split("\n## ", 1)[0]
    install, connect = blocks(section, "console")
    [tasks], [config] = blocks(section, "csv"), blocks(section, "xml")
    [file], [name] = re.findall(r"Save these lines as `([^`]+)`", section), re.findall(r"\btype `([^`]+)`", section)
    assert re.search(rf"choose\s+`{re.escape(file)}`", section), "the guide chooses a file that it does not save"
    columns = tuple(re.findall(r"`(quorate_\w+)`", section))
    return Guide(emphasised(section), file, name, columns, connect, tasks, config, commands(install), commands(connect))
