"""Languages by name: the built-in ones, then those of installed packages."""

import subprocess
import sys

import lines
import pytest

from bylaw.languages import BUILT_IN, find_language, language_names, languages_for
from bylaw.model.errors import BylawError


def install(folder, name, module):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[bylaw.dialects]\n{name} = {module}\n")


def test_an_installed_language_is_found_by_name_and_by_ending():
    assert find_language("lines") is lines
    assert languages_for("rules/a.lines") == [lines]
    assert languages_for("rules/a.other") == []
    assert find_language("nope") is None
    assert language_names()[: len(BUILT_IN)] == list(BUILT_IN)
    assert "lines" in language_names()


def test_every_language_is_what_its_line_says():
    for name in language_names():
        dialect = find_language(name)

        assert (dialect.name, bool(dialect.spec), bool(dialect.suffixes)) == (name, True, True)
        assert dialect.when_broken.group in {group.name for group in dialect.load([]).groups}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("no_such_module_here", None),
        ("broken_language", "raise ImportError('no engine')"),
        ("half_language", "name = 'half_language'"),
        ("misnamed_language:it", "import lines as it"),
    ],
)
def test_a_package_that_is_no_language_is_said_so(module, text, tmp_path, monkeypatch):
    name = module.partition(":")[0]
    install(tmp_path, name, module)
    if text is not None:
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(BylawError, match=name):
        find_language(name)


def test_nothing_is_imported_to_list_built_in_languages():
    code = "import bylaw.languages, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    loaded = set(done.stdout.split())

    assert loaded & {"importlib.metadata", "bylaw.languages.base", *BUILT_IN.values()} == set()
