"""Paths of strangers: where they lead below a root, and that none leads out."""

import os
import threading

import pytest

from bylaw.store.safe_paths import MAX_FOLDERS, MAX_LINKS, MAX_PATH_CHARS, open_safe_path
from waiting import open_files


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    return root


def where(root, path, **more):
    with open_safe_path(str(root), path, **more) as place:
        return place.path, place.missing, place.linked


def content(root, path):
    with open_safe_path(str(root), path) as place:
        file = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place.folder)
        try:
            return os.read(file, 100).decode()
        finally:
            os.close(file)


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("a/b/file", "a/b/file"),
        ("./a//b/./file", "a/b/file"),
        ("a/../a/b/file", "a/b/file"),
        ("a/b/nothing", "a/b/nothing"),
        ("a/b/", "a/b"),
        ("a/b/..", "a"),
        (".", ""),
        ("", ""),
        ("a/..", ""),
        ("~", "~"),
        ("ä ö", "ä ö"),
    ],
)
def test_where_a_path_leads(root, path, real):
    assert where(root, path) == (real, (), False)


def test_an_absolute_path_may_lie_inside(root):
    assert where(root, f"{root}/a/b/file")[0] == "a/b/file"
    assert where(root, str(root))[0] == ""


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret",
        "a/../../outside/secret",
        "a/b/../../..",
        "/",
        "/etc/passwd",
        "//etc",
    ],
)
def test_no_path_leads_out(root, path):
    with pytest.raises(ValueError, match="leads out"):
        where(root, path)


def test_nor_does_one_that_only_begins_like_the_root(root):
    with pytest.raises(ValueError, match="leads out"):
        where(root, f"{root}-other/file")
    with pytest.raises(ValueError, match="leads out"):
        where(root, f"{root}/../outside/secret")


@pytest.mark.parametrize(
    "target", ["../../outside/secret", "/etc/passwd", "b/../../../outside/secret"]
)
def test_no_link_leads_out(root, target):
    (root / "a/link").symlink_to(target)
    with pytest.raises(ValueError, match="leads out"):
        where(root, "a/link")
    (root / "folder").symlink_to("../outside")
    with pytest.raises(ValueError, match="leads out"):
        where(root, "folder/secret")


def test_links_inside_are_followed(root):
    (root / "short").symlink_to("a/b")
    (root / "a/up").symlink_to("../short/file")
    (root / "whole").symlink_to(root / "a/b/file")
    (root / "dangling").symlink_to("a/new")

    assert where(root, "short/file") == ("a/b/file", (), False)
    assert where(root, "a/up") == ("a/b/file", (), True)
    assert where(root, "whole") == ("a/b/file", (), True)
    assert where(root, "short") == ("a/b", (), True)
    assert where(root, "dangling") == ("a/new", (), True)
    assert content(root, "a/up") == "inside"


def test_links_in_a_circle_end(root):
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        where(root, "one/file")


def test_as_many_links_as_the_system_follows(root):
    for number in range(MAX_LINKS):
        target = f"link{number - 1}" if number else "a/b/file"
        (root / f"link{number}").symlink_to(target)
    assert content(root, f"link{MAX_LINKS - 1}") == "inside"
    (root / "more").symlink_to(f"link{MAX_LINKS - 1}")
    with pytest.raises(OSError, match="symbolic links"):
        where(root, "more")


def test_folders_that_are_missing_are_named_only_for_what_is_new(root):
    assert where(root, "a/new/er/file", new=True) == ("a/new/er/file", ("new", "er"), False)
    with pytest.raises(FileNotFoundError):
        where(root, "a/new/file")
    with pytest.raises(FileNotFoundError):
        where(root, "new/../file", new=True)


def test_a_file_is_no_folder(root):
    with pytest.raises(NotADirectoryError):
        where(root, "a/b/file/more", new=True)


@pytest.mark.parametrize("char", ["\0", "\n", "\x1b", "\x7f", "\x85", "\ud800"])
def test_control_characters_are_refused(root, char):
    with pytest.raises(ValueError, match="control character"):
        where(root, f"a/{char}")


def test_what_is_too_long_or_too_deep_is_refused(root):
    with pytest.raises(ValueError, match="longer than"):
        where(root, "x/" * MAX_PATH_CHARS)
    deep = root
    for _ in range(MAX_FOLDERS + 1):
        deep /= "d"
    deep.mkdir(parents=True)
    with pytest.raises(ValueError, match="folders deep"):
        where(root, "d/" * (MAX_FOLDERS + 1) + "x")
    with pytest.raises(OSError, match="too long"):
        where(root, "n" * 300)


def test_nothing_stays_open(root):
    before = open_files()
    where(root, "a/b/file")
    for path in ("../x", "a/b/file/x", "no/where"):
        with pytest.raises((OSError, ValueError)):
            where(root, path)
    assert open_files() == before


def test_whoever_swaps_a_folder_for_a_link_leads_nobody_out(root):
    """The folder is a link to the outside half of the time; only the inside is ever read."""
    (root / "swap").mkdir()
    (root / "swap/secret").write_text("inside")
    link = root / "link"
    link.symlink_to("../outside")
    done = threading.Event()

    def swap():
        while not done.is_set():
            (root / "swap").rename(root / "kept")
            link.rename(root / "swap")
            (root / "swap").rename(link)
            (root / "kept").rename(root / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    read = set()
    try:
        for _ in range(2_000):
            try:
                read.add(content(root, "swap/secret"))
            except (OSError, ValueError):
                read.add("refused")
    finally:
        done.set()
        thread.join()
    assert read <= {"inside", "refused"}
    assert "inside" in read
