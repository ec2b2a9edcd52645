"""A second start knows what the first found, and believes nobody else."""

import os
import shutil
import sys
from hashlib import sha256
from importlib import import_module
from types import SimpleNamespace

import msgspec
import pytest
import scripted

from bylaw.runtime import check_cache
from bylaw.runtime.check_cache import MAX_CACHE_BYTES, MAX_FILES, MAX_UNUSED, PREFIX, CheckCache
from bylaw.runtime.loader import load_paths, load_root

NOBODY = 65534


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The cache folder of a user."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "root")


def start(root):
    return CheckCache(scripted, root)


def keep(root, **notes):
    cache = start(root)
    cache.note({digest: note.encode() for digest, note in notes.items()})
    cache.keep()


def known(root, *digests):
    cache = start(root)
    return [cache.find_note(digest).decode() for digest in digests]


def files(home):
    return sorted((home / "bylaw").iterdir()) if (home / "bylaw").exists() else []


def test_what_was_noted_is_known_at_the_next_start(home, root):
    keep(root, a="one", b="two")

    assert known(root, "a", "b", "c") == ["one", "two", ""]


def test_languages_and_roots_have_files_of_their_own(home, root):
    keep(root, a="one")
    keep(f"{root}-2", a="two")
    other = SimpleNamespace(name="other", __name__="scripted")

    assert CheckCache(other, root).find_note("a") == b""
    assert (known(root, "a"), known(f"{root}-2", "a")) == (["one"], ["two"])
    assert len(files(home)) == 2


def test_only_the_user_can_read_it(home, root):
    old = os.umask(0)
    try:
        keep(root, a="one")
    finally:
        os.umask(old)

    assert (home / "bylaw").stat().st_mode & 0o777 == 0o700
    assert [one.stat().st_mode & 0o777 for one in files(home)] == [0o600]


def test_nothing_is_written_without_news(home, root):
    keep(root)
    assert files(home) == []
    keep(root, a="one")
    (before,) = files(home)
    stamp = before.stat().st_ino
    keep(root, a="one")
    cache = start(root)
    cache.find_note("a")
    cache.keep()

    assert [one.stat().st_ino for one in files(home)] == [stamp]
    keep(root, a="other")
    assert known(root, "a") == ["other"]


def test_what_is_used_stays_and_of_the_rest_the_newest(home, root):
    keep(root, **{f"old{number}": "x" for number in range(MAX_UNUSED)})
    cache = start(root)
    cache.find_note("old5")
    cache.note({"new": b"y"})
    cache.keep()
    keep(root, newer="z")

    assert known(root, "newer", "new", "old5", "old0", f"old{MAX_UNUSED - 1}") == [
        *("z", "y", "x", "x", "")
    ]


def test_files_of_forgotten_roots_go(home, root):
    (home / "bylaw").mkdir(mode=0o700)
    (home / "bylaw" / "something-else").touch()
    for number in range(MAX_FILES):
        path = home / "bylaw" / f"{PREFIX}{number}"
        path.touch()
        os.utime(path, (number, number))
    keep(root, a="one")

    assert len(files(home)) == MAX_FILES + 1
    assert not (home / "bylaw" / f"{PREFIX}0").exists()
    assert known(root, "a") == ["one"]


def test_without_a_variable_it_lies_below_home(tmp_path, root, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    keep(root, a="one")

    assert (tmp_path / ".cache").stat().st_mode & 0o777 == 0o700
    assert len(files(tmp_path / ".cache")) == 1
    assert known(root, "a") == ["one"]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HOME": ""},
        {"HOME": "relative"},
        {"XDG_CACHE_HOME": "relative"},
        {"XDG_CACHE_HOME": "./here"},
        {"HOME": "/nowhere/at/all"},
        {"XDG_CACHE_HOME": "/proc"},
        {"XDG_CACHE_HOME": "/dev/null"},
    ],
)
def test_where_there_is_no_place_there_is_no_cache(variables, tmp_path, root, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    keep(root, a="one")

    assert known(root, "a") == [""]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("inside", [".", "cache", "deep/er", "link"])
def test_a_repository_cannot_bring_its_own(inside, tmp_path, root, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    for folder in (tmp_path / "root" / "deep" / "er", tmp_path / "root" / "cache", elsewhere):
        folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(elsewhere))
    keep(root, a="planted")
    shutil.copytree(elsewhere / "bylaw", tmp_path / "root" / inside / "bylaw", dirs_exist_ok=True)
    (tmp_path / "way-in").symlink_to(f"root/{inside}")

    for home in (f"{root}/{inside}", str(tmp_path / "way-in")):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        assert known(root, "a") == [""]


def _grown(path):
    os.truncate(path, MAX_CACHE_BYTES + 1)


def _changed(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def _folder(path):
    path.unlink()
    path.mkdir()


def _foreign(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, NOBODY, NOBODY)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "cut in the digest": lambda path: path.write_bytes(path.read_bytes()[:7]),
    "changed": _changed,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "not ours": lambda path: path.write_bytes(sealed(b"hello")),
    "another form": lambda path: path.write_bytes(sealed(msgspec.msgpack.encode({"a": 1}))),
    "one field more": lambda path: path.write_bytes(sealed(msgspec.msgpack.encode(["", {}, 1]))),
    "too large": _grown,
    "for everybody": lambda path: path.chmod(0o666),
    "for the group": lambda path: path.chmod(0o620),
    "in an open folder": lambda path: path.parent.chmod(0o777),
    "a link": _link,
    "a pipe": _pipe,
    "a folder": _folder,
    "of somebody else": _foreign,
    "in a folder of somebody else": lambda path: _foreign(path.parent),
}


def sealed(payload):
    return sha256(payload).digest() + payload


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_surely_ours_counts_as_empty(damage, home, root):
    keep(root, a="one")
    (path,) = files(home)
    DAMAGE[damage](path)

    assert known(root, "a") == [""]
    keep(root, b="two")  # never an error


def test_the_folder_is_no_link(home, root, tmp_path):
    keep(root, a="one")
    (home / "bylaw").rename(tmp_path / "moved")
    (home / "bylaw").symlink_to(tmp_path / "moved")

    assert known(root, "a") == [""]


def test_a_file_that_would_be_too_large_is_not_written(home, root, monkeypatch):
    monkeypatch.setattr(check_cache, "MAX_CACHE_BYTES", 100)
    keep(root, a="x" * 100)

    assert files(home) == []


def test_no_temporary_name_is_left_when_writing_fails(home, root):
    keep(root, a="one")
    (path,) = files(home)
    _folder(path)
    (path / "full").touch()
    keep(root, b="two")

    assert files(home) == [path]


@pytest.fixture
def language(tmp_path, monkeypatch):
    """A language of one's own, that is being written."""
    folder = tmp_path / "own_language"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "reader.py").write_text("old = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("own_language", None)
    language = import_module("own_language")
    language.name = "own"
    check_cache._module_version.cache_clear()
    yield language
    check_cache._module_version.cache_clear()


@pytest.mark.parametrize("edited", ["reader.py", "__init__.py", "new.py"])
def test_an_edited_language_knows_nothing(edited, language, home, root, tmp_path):
    cache = CheckCache(language, root)
    cache.note({"a": b"one"})
    cache.keep()
    check_cache._module_version.cache_clear()
    assert CheckCache(language, root).find_note("a") == b"one"

    (tmp_path / "own_language" / edited).write_text("new = 2")
    check_cache._module_version.cache_clear()
    assert CheckCache(language, root).find_note("a") == b""


@pytest.mark.parametrize("part", ["expr/check.py", "languages/base.py", "model/rule.py"])
def test_so_does_an_edited_bylaw(part, home, root, tmp_path, monkeypatch):
    copy = tmp_path / "bylaw"
    shutil.copytree(check_cache._BYLAW, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(check_cache, "_BYLAW", str(copy))
    check_cache._module_version.cache_clear()
    before = check_cache.check_version(scripted)
    check_cache._module_version.cache_clear()
    assert check_cache.check_version(scripted) == before

    with (copy / part).open("a") as file:
        file.write("# mended\n")
    check_cache._module_version.cache_clear()
    assert check_cache.check_version(scripted) != before
    check_cache._module_version.cache_clear()


def put(root, name, text):
    (root / "rules" / f"{name}.scripted").write_text(text)


def test_loading_asks_only_for_what_is_new(scripted_root, home):
    put(scripted_root, "a", "use scripts/a.lua\n")
    put(scripted_root, "b", "# b\n")
    (scripted_root / "rules" / "scripts" / "a.lua").write_text("return true")
    first = load_paths(["rules"])
    put(scripted_root, "b", "# changed\n")
    second = load_paths(["rules"])

    assert scripted.checked == ["rules/a.scripted", "rules/b.scripted", "rules/b.scripted"]
    assert first.diagnostics == second.diagnostics == ()
    (scripted_root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
    third = load_root(str(scripted_root))
    assert len(scripted.checked) == 3
    assert third.books[0].book.digest == second.books[0].book.digest


def test_a_changed_script_is_seen_though_its_rule_is_known(scripted_root, home):
    put(scripted_root, "a", "use scripts/a.lua\n")
    script = scripted_root / "rules" / "scripts" / "a.lua"
    script.write_text("return true")
    digests = [load_paths(["rules"]).books[0].book.digest]
    script.write_text("return false")
    digests.append(load_paths(["rules"]).books[0].book.digest)
    script.unlink()
    gone = load_paths(["rules"])

    assert scripted.checked == ["rules/a.scripted"]
    assert len(set(digests)) == 2
    assert [one.headline for one in gone.diagnostics] == ["`scripts/a.lua` does not exist"]


@pytest.mark.parametrize("text", ["use scripts/gone.lua\n", "warn\n"])
def test_a_file_with_a_finding_is_checked_at_every_start(text, scripted_root, home):
    """The language of this test notes it all the same."""
    put(scripted_root, "a", text)
    put(scripted_root, "b", "# fine\n")
    findings = [load_paths(["rules"]).diagnostics for _ in range(3)]

    assert len(findings[0]) == 1
    assert findings[0] == findings[1] == findings[2]
    assert scripted.checked == [
        *("rules/a.scripted", "rules/b.scripted", "rules/a.scripted", "rules/a.scripted")
    ]
