"""Old names of documented modules that moved after 0.1: they work for one release, with a deprecation warning.

`install()` is called once, by `quorate/__init__.py`. Delete this file in 0.3.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED: dict[str, tuple[str, ...]] = {  # old -> new
    "quorate.service.webhooks": ("quorate.service.signature",),
    "quorate.service.webhooks.signature": ("quorate.service.signature",),
    "quorate.simulation": ("quorate.streams",),
    "quorate.simulation.prepare": ("quorate.streams.prepare",),
    "quorate.simulation.simulate": ("quorate.streams.simulate",),
    "quorate.experiments": ("quorate.paper",),
    "quorate.experiments.as_published": ("quorate.paper.as_published",),
    "quorate.experiments.cluster": ("quorate.paper.cluster",),
    "quorate.experiments.sweep": ("quorate.paper.sweep",),
    "quorate.workflows.audit_panels": ("quorate.workflows.audit.files",),
    "quorate.workflows.audit.panels": ("quorate.workflows.audit.files",),
    "quorate.workflows.control": ("quorate.streams.control", "quorate.streams.target_error"),
    "quorate.workflows.replay": ("quorate.streams.replay",),
    "quorate.workflows.run_result": ("quorate.workflows.run.result",),
}
PACKAGES = ("quorate.simulation", "quorate.experiments", "quorate.service.webhooks")


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for a module with renamed classes: the old names work for one release, with a warning."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now {module}.{names[name]}.", DeprecationWarning, stacklevel=2)
        found: object = getattr(sys.modules[module], names[name])
        return found

    return find


class _MovedModules(MetaPathFinder, Loader):
    """Imports an old name, after all other finders, as a copy of the new module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=fullname in PACKAGES) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        names = MOVED[module.__name__]
        where = " and ".join(names)
        warnings.warn(f"{module.__name__} is now {where}; import it from there.", DeprecationWarning, stacklevel=2)
        for new in map(import_module, names):
            module.__dict__.update({k: v for k, v in vars(new).items() if not k.startswith("__")})


def install() -> None:
    """Make the old names importable; may be called again."""
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(_MovedModules())
