"""Every module can be imported, on whatever Python runs this."""

import pkgutil
import subprocess
import sys

import quorate
import quorate_paper
import quorate_service

ELSEWHERE = {
    "distributed",
    "sklearn",
    "inspect_ai",
    "datasets",
    "mlflow",
}  # of extras that `make test-pythons` leaves out
PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        print(name, problem.name)
"""


def test_every_module_can_be_imported():
    packages = (quorate, quorate_paper, quorate_service)
    found = [module.name for one in packages for module in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")]
    names = [name for name in found if not name.endswith(("__main__", "._core"))]  # the library is loaded by ctypes
    assert len(names) > 250 and {"quorate_service.app", "quorate_paper.reproduce"} <= set(names)
    done = subprocess.run([sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    wanting = dict(line.split() for line in done.stdout.splitlines())
    assert not {name: package for name, package in wanting.items() if package.partition(".")[0] not in ELSEWHERE}
