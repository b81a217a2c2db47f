"""The Dockerfile's commands carried out by hand, in a bare folder: the server starts without a privilege, with the
image's variables, from a package that it cannot write to."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

from tests.package.test_container import BUILD, IMAGE, ROOT, only, settings
from tests.processes import free_port, wait_until

USER = int(only("USER"))
SET_ELSEWHERE = ("QUORATE", "PYTHON")
SESSION = """
import quorate
session = quorate.Session("value", classes=["a", "b", "c"], pool_size=5, seed=1)
session.open("x", [0.6, 0.3, 0.1])
print(session.vote("x", "a").confidence)
"""


BARE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def anyone() -> dict[str, object]:
    """As the image's user, where this process may choose; else (a Python in root's home) as root, who without its
    capabilities cannot write to what is read-only either."""
    if os.geteuid() != 0:
        return {}
    chosen = {"user": USER, "group": USER, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-V"], capture_output=True, check=True, **chosen)
    except (PermissionError, subprocess.CalledProcessError):
        return {}
    return chosen


@pytest.fixture(scope="module")
def image():
    """What the image would hold: `opt` for /opt/quorate, `tmp` and `data` writable, all else not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        here = Path(name)
        here.chmod(0o755)
        context = here / "build"
        for instruction, rest in BUILD:
            command = rest.replace("/opt/quorate", f"{here}/opt").replace("python -m venv", f"{sys.executable} -m venv")
            if instruction == "COPY":
                *sources, target = rest.split()
                for source in sources:
                    place = context / (source if target == "./" else target)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                    copy(ROOT / source, place)
            elif instruction == "RUN":
                kept = {name: value for name, value in os.environ.items() if not name.startswith(SET_ELSEWHERE)}
                subprocess.run(["sh", "-ec", command], cwd=context, env=kept | settings(BUILD), check=True)
        subprocess.run(["chmod", "-R", "a-w,a+rX", str(here / "opt")], check=True)
        for folder in ("tmp", "data"):
            (here / folder).mkdir()
            (here / folder).chmod(0o777)
        yield here
        subprocess.run(["chmod", "-R", "u+w", name], check=True)


@pytest.fixture
def environment(image):
    """The image's variables, and no others."""
    found = {name: value.replace("/tmp/", f"{image}/tmp/") for name, value in settings(IMAGE).items()}
    return found | {"PATH": f"{image}/opt/bin:{os.environ['PATH']}"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_image_serves_from_a_read_only_package(image, environment):
    port = free_port()
    program = image / "opt/bin" / json.loads(only("ENTRYPOINT"))[0]
    command = [*BARE, str(program), *json.loads(only("CMD")), "--port", str(port)]
    server = subprocess.Popen(command, cwd=image / "data", env=environment, **anyone())
    try:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "the server is ready", within=300)
        check = json.loads(only("HEALTHCHECK").partition("CMD ")[2].replace("8000", str(port)))
        assert subprocess.run([*BARE, *check], env=environment, check=False, **anyone()).returncode == 0
        call = {"cwd": image / "data", "env": environment, "capture_output": True, "text": True}
        decided = subprocess.run([*BARE, "python", "-c", SESSION], check=True, **call, **anyone())
        assert 0.6 < float(decided.stdout) < 1 and decided.stderr == ""
    finally:
        server.terminate()
        server.wait(60)
    assert (image / "data/quorate.db").exists()
    if os.geteuid() == 0:
        refused = subprocess.run([*BARE, "touch", str(image / "opt/new")], capture_output=True, check=False, **anyone())
        assert refused.returncode != 0


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
