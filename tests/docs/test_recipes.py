"""What the recipes promise beside their examples, which `tests/test_spec.py` runs."""

import re
from pathlib import Path

import pytest

from bylaw.hosts.clients import load_adapter
from bylaw.runtime.effects import ABILITIES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"\n## (?=.+\n\n)", PAGE)[1:]  # a heading in an output has no line after it
# It takes files away, and there is no code whose tests could change with it.
DELETES = {"Delete"}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_a_recipe_in_chatmd_comes_with_the_lines_that_put_it_in_force(section):
    recipes = re.findall(r"^```chatmd (\S+)$", section, re.MULTILINE)

    assert [one for one in recipes if f'[[book]]\npath = "{one}"\n' not in section] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_a_recipe_is_tried_by_what_a_client_sends(section):
    assert "\n$ bylaw hook claude " in section


def names(host, ours):
    return {name for name, sort in load_adapter(host).tool_kinds.items() if ours in sort.also}


def all_names(host):
    return set(load_adapter(host).tool_kinds)


@pytest.mark.parametrize("host", ABILITIES)
def test_words_of_names_find_what_clients_call_a_change(host):
    [listed] = re.findall(r"for word in \[([^\]]+)\]", PAGE)
    words = re.findall(r"'(\w+)'", listed)
    found = {name for name in all_names(host) if any(word in name.lower() for word in words)}

    assert found | DELETES == names(host, "file.write") | DELETES


@pytest.mark.parametrize("host", ABILITIES)
def test_a_word_finds_what_clients_call_a_search(host):
    [word] = set(re.findall(r"'(\w+)' in \S+\.lower\(\)\.replace\('_', ''\)", PAGE))
    found = {name for name in all_names(host) if word in name.lower().replace("_", "")}

    assert found == names(host, "web.search")
