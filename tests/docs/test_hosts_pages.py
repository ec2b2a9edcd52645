"""Every host has a page of its own in docs/hosts/, with all its tables.

Examples are run by `tests/test_spec.py`; that of Python by `test_shell_pages.py`.
"""

import sys
from pathlib import Path

import pytest

from bylaw.hosts.clients import load_adapter
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.effects import ABILITIES, CARRIES_OUT, TITLES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import hosts_tables  # noqa: E402 - docs/ is no package
from tables import PLACE  # noqa: E402 - same

SECTIONS = ("Set up", "Supported actions", "Limits", "Pitfalls")
OF_A_CLIENT = ("Events", "Replies", "Tools")


def page_of(host):
    return (ROOT / "docs" / "hosts" / f"{host}.md").read_text(encoding="utf-8")


def test_every_page_is_that_of_a_host():
    pages = {page.stem for page in (ROOT / "docs" / "hosts").iterdir()}

    assert pages == set(TITLES) == set(CARRIES_OUT)


@pytest.mark.parametrize("host", TITLES)
def test_a_page_has_all_its_sections(host):
    wanted = (*SECTIONS, *(OF_A_CLIENT if host in ABILITIES else ()))

    assert [name for name in wanted if f"\n## {name}\n" not in page_of(host)] == []


@pytest.mark.parametrize("host", TITLES)
def test_a_page_has_all_tables_of_its_host_and_no_others(host):
    wanted = {name for name in hosts_tables.TABLES if name.startswith(f"{host}-")}

    assert {found["name"] for found in PLACE.finditer(page_of(host))} == wanted


@pytest.mark.parametrize("host", ABILITIES)
def test_a_page_of_a_client_says_how_to_install_and_runs_a_hook(host):
    page = page_of(host)

    assert page.startswith(f"# {ABILITIES[host].title}\n")
    assert f"\nbylaw install {host}\n" in page
    assert f"\n$ bylaw hook {host} " in page


@pytest.mark.parametrize("host", ABILITIES)
def test_names_of_mcp_tools_are_read_as_it_is_written(host):
    adapter, name = load_adapter(host), hosts_tables.MCP[host]
    event = next(name for name, one in adapter.moments.items() if one is HookPoint.AFTER_TOOL)
    server = {"mcp_context": {"server_name": "SERVER", "tool_name": "TOOL"}}
    payload = {"tool_name": name, "tool": name, "mcp_server_name": "SERVER", **server}

    assert "mcp:SERVER/TOOL" in adapter.read(event, payload).call.also
