"""Documented names of the version before still import, and say where they went."""

import sys
from importlib import import_module

import pytest

from quorate.moved import MOVED, install


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_warns_and_gives_the_new_module_s_names(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning):
        found = import_module(old)
    for new in map(import_module, MOVED[old]):
        public = [name for name in vars(new) if not name.startswith("_")]
        assert all(getattr(found, name) is getattr(new, name) for name in public)


def test_other_unknown_names_are_still_unknown():
    install()
    with pytest.raises(ModuleNotFoundError):
        import_module("quorate.nothing")
