"""Notions of what is key: ready ones by name, or the user's own."""

import pytest

from memory.errors import UnknownName
from memory.settings import Settings
from memory.templates import TEMPLATES, named
from tests.memory.conftest import pager_of


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_goes_by_its_name_and_says_what_it_looks_for(name):
    template = named(name)
    assert template.name == name
    assert len(template.looks_for) > 20


def test_the_presets_of_the_users_trades_are_there():
    assert {"entities", "changes", "intent", "support", "companion", "writing", "knowledge"} <= set(TEMPLATES)


def test_what_the_user_holds_to_be_key_comes_first():
    own = named("support").with_key("  the serial\n number ")
    assert own.looks_for.startswith("above all the serial number; else the complaint")
    assert named("support").with_key("  ") == named("support")
    assert len(named("support").with_key("x" * 9_999).looks_for) < 600


def test_an_unknown_template_is_named_before_anything_begins():
    with pytest.raises(UnknownName, match="no bookmark template named 'poetry'; choose one of: changes, companion"):
        pager_of(Settings.of(bookmark_template="poetry"))
