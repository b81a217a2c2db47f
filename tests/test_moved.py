"""Documented names of the previous version can still be imported, with a warning that has the new name."""

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


@pytest.mark.parametrize(("old", "new"), [("Batch", "BatchBound"), ("Coin", "AuditDraw"), ("Tally", "AuditCounts")])
def test_classes_of_audits_are_found_by_their_old_names_with_a_warning(old, new):
    import quorate.audit

    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(quorate.audit, old) is getattr(quorate.audit, new)
    with pytest.raises(AttributeError):
        getattr(quorate.audit, f"{old}s")
