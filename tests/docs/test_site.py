"""The site of `make site`: what MkDocs is given, and what is wrong with what it made of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from site_check import problems  # noqa: E402 - docs/ is no package
from site_pages import FENCE, pages, plain_fences, targets  # noqa: E402 - same


@pytest.fixture(scope="module")
def site():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [
        name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file() and name
    ]
    return pages(files, lambda name: (ROOT / name).read_text("utf-8"))


def test_no_fence_says_more_than_a_highlighter(site):
    opened = [fence for text in site.values() for fence in FENCE.finditer(text)]

    assert {fence["path"] for fence in opened} == {None}
    assert {fence["kind"] for fence in opened} <= {
        *("bash", "console", "json", "lua", "markdown", "python", "text", "toml", "xml", "yaml")
    }


def test_every_link_leads_to_a_page(site):
    dead = [
        (path, target)
        for path, text in site.items()
        for target in targets(path, text)
        if target not in site
    ]
    assert dead == []


def test_what_the_navigation_names_is_there(site):
    settings = (ROOT / "docs/site.py").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.md)$", settings, re.MULTILINE)

    assert len(named) > 30
    assert set(named) - set(site) == set()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("```toml a.toml\nx\n```", "*`a.toml`*\n\n```toml\nx\n```"),
        ("`a.toml`:\n\n```toml a.toml\nx\n```", "`a.toml`:\n\n```toml\nx\n```"),
        ("```edit a.toml\nx\n```", "*`a.toml`, changed*\n\n```toml\nx\n```"),
        ("```remove a.toml\n```", "*`a.toml` is taken away*\n"),
        ("```toml a.toml\n```", "*`a.toml`: nothing*\n"),
        ("```toml beside.toml\n```", "*[`beside.toml`](beside.toml)*\n"),
        ("```run\n$ bylaw\n```", "```console\n$ bylaw\n```"),
        ("```diagnostics\n```", "*What loading reports: nothing*\n"),
        ("````md a.md\n```text\n```\n````", "*`a.md`*\n\n````markdown\n```text\n```\n````"),
    ],
)
def test_a_fence_becomes_plain(written, shown):
    assert plain_fences("docs/page.md", written, ["docs/beside.toml"]) == shown


def test_rules_become_pages_and_folders_get_an_index():
    texts = {
        "README.md": "# One\n\n[rules](examples/) | `[a](b)`\n",
        "docs/a.md": "# A\n\n[code](../src/x.py#l1) [back](../README.md) [it](https://x.y)\n",
        "examples/.deep/rule.md": "---\na: ```\n---\n",
        "src/x.py": "pass",
        "src/y.py": "pass",
    }

    made = pages(texts, texts.__getitem__)

    assert made["README.md"] == "# One\n\n[rules](examples/README.md) | `[a](b)`\n"
    assert made["docs/a.md"] == (
        "# A\n\n[code](../src/x.py.md#l1) [back](../README.md) [it](https://x.y)\n"
    )
    assert made["examples/.deep/rule.md.md"] == (
        "# rule.md\n\n`examples/.deep/rule.md`\n\n``````markdown\n---\na: ```\n---\n``````\n"
    )
    assert made["examples/README.md"] == "# examples/\n\n- [.deep/](.deep/README.md)\n"
    assert made["examples/.deep/README.md"] == "# examples/.deep/\n\n- [rule.md](rule.md.md)\n"
    assert "src/y.py.md" not in made
    links = [(path, target) for path, text in made.items() for target in targets(path, text)]
    assert {target for _, target in links} <= set(made)


def test_a_pipe_in_a_table_is_one():
    text = "| a | b |\n| --- | --- |\n| `x \\| y` | \\| |\n"

    assert pages({"README.md": ""}, lambda _: text)["README.md"] == text.replace("x \\|", "x |")


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("<p>fine</p><pre>``` <a href='b/'>b</a></pre>", []),
        ("<p>```toml a.toml</p>", ["a fence, a list or a table is shown as text"]),
        ("<p>so:\n- one</p>", ["a fence, a list or a table is shown as text"]),
        ("<p>a <policy> is</p>", ["<policy> is no element of HTML"]),
        ("<a href='../spec/'>x</a>", ["dead link: ../spec/"]),
        ("<a href='b/#there'>x</a><a href='#here'>x</a>", ["dead link: #here"]),
        ("<a href='https://elsewhere/'>x</a><img src='gone.png'>", ["dead link: gone.png"]),
    ],
)
def test_what_is_wrong_with_a_page_is_found(tmp_path, body, wrong):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/index.html").write_text("<html><h1 id='there'>b</h1></html>")
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")

    assert problems(tmp_path) == [f"index.html: {one}" for one in wrong]
