"""Builds the compiled core: every .cpp of this folder into one library that ctypes loads.

Plain C functions, so it needs neither Python's headers nor a C++ runtime. Where there is no C++ compiler, Zig's
(package ziglang) is used, also with CXX=zig. setup.py calls `build` for wheels and installations; `python
core/build.py` builds again in place, for a changed source. Environment: CXX names the compiler, QUORATE_CXXFLAGS adds
flags (`make sanitize`, a -target).
"""

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORE = Path(__file__).resolve().parent
WINDOWS = platform.system() == "Windows"
LIBRARY = "_core.dll" if WINDOWS else "_core.so"
PLACE = CORE.parent / "src" / "quorate" / LIBRARY
FLAGS = (
    "-std=c++20 -O3 -fvisibility=hidden -fno-exceptions -fno-rtti -fno-math-errno -fno-trapping-math "
    "-ffp-contract=off"  # no fused operations: every processor gets the same bits
)
COMPILERS = ("c++", "g++", "clang++")
ZIG = "ziglang>=0.13,<0.17"
HELP = f"""\
quorate's compiled core could not be built: {{cause}}.
Install a C++20 compiler (g++ 11 or clang 14, or newer; Debian: apt-get install g++), or: pip install '{ZIG}'."""


def compiler() -> tuple[list[str], list[str]]:
    """The commands that compile and link: CXX, a compiler of the machine, or Zig."""
    found = os.environ.get("CXX") or next(filter(shutil.which, COMPILERS), "zig")
    if found != "zig":
        static = [] if platform.system() == "Darwin" else ["-static-libstdc++", "-static-libgcc"]
        return shlex.split(found), [*shlex.split(found), *static]
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(HELP.format(cause="there is no C++ compiler here"))
    zig, is_x86 = [sys.executable, "-m", "ziglang"], platform.machine() in ("x86_64", "AMD64")
    # plain x86-64: Zig's default is the processor at hand. Linked as C: as C++ it would first build a library.
    return [*zig, "c++", *(["-march=x86_64"] if is_x86 else [])], [*zig, "cc"]


def needs() -> list[str]:
    """The packages that building needs here."""
    named = os.environ.get("CXX")
    return [ZIG] if named == "zig" or not (named or any(map(shutil.which, COMPILERS))) else []


def digest() -> str:
    """Of all sources; `quorate.core` compares it with that of the library it loads."""
    made = hashlib.blake2b(digest_size=8)
    for source in sorted(CORE.glob("*.[ch]pp")):
        made.update(source.name.encode() + source.read_bytes())
    return made.hexdigest()


def build(made: Path = PLACE) -> None:
    """Compile all sources in parallel, link them to `made`."""
    compile_with, link_with = compiler()
    extra = shlex.split(os.environ.get("QUORATE_CXXFLAGS", ""))
    flags = [*shlex.split(FLAGS), *([] if WINDOWS else ["-fPIC"]), *extra, f'-DQUORATE_CORE_DIGEST="{digest()}"']
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = sorted(map(str, CORE.glob("*.cpp")))
        objects = [str(Path(folder) / Path(source).with_suffix(".o").name) for source in sources]
        jobs = [[*compile_with, *flags, "-c", each, "-o", o] for each, o in zip(sources, objects, strict=True)]
        new = Path(folder) / LIBRARY
        link = [*link_with, *extra, *([] if extra else ["-s"]), "-shared", *objects, "-o", str(new)]
        try:
            list(pool.map(lambda job: subprocess.run(job, check=True), jobs))
            subprocess.run(link if WINDOWS else [*link, "-lm"], check=True)
        except (OSError, subprocess.CalledProcessError) as cause:
            raise SystemExit(HELP.format(cause=cause)) from cause
        made.unlink(missing_ok=True)  # a process that has the old library open keeps it
        shutil.move(new, made)


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:]))
