"""`append_to_file` and `find_and_replace`: what they change, and what they must leave alone."""

import os
import stat
import threading

import pytest
from chat_folder import HOSTILE_PATHS, lay_traps

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.file_tools import AppendToFile, FindAndReplace
from bylaw.hosts.chat.tools.files import MAX_EDITED_BYTES, Files
from other_user import NOBODY, as_somebody_else


@pytest.fixture
def append(chat):
    return AppendToFile(chat.files)


@pytest.fixture
def replace(chat):
    return FindAndReplace(chat.files)


class TestAppend:
    @pytest.mark.parametrize(
        ("before", "content", "after"),
        [
            ("a\n", "b", "a\nb"),
            ("a", "b\n", "a\nb\n"),
            ("", "b\n", "b\n"),
            ("a\r\nb\r\n", "c\nd\n", "a\r\nb\r\nc\r\nd\r\n"),
            ("a\r\nb", "c", "a\r\nb\r\nc"),
            ("a\r\n", "b\r\n", "a\r\nb\r\n"),
            ("a\r\nb\n", "c\n", "a\r\nb\nc\n"),
            ("\ufeffa\n", "é", "\ufeffa\né"),
            ("\r\r\n", "x", "\r\r\nx"),
        ],
    )
    def test_on_a_line_of_its_own(self, chat, append, before, content, after):
        chat.put("f", before)
        assert (
            append.run({"path": "f", "content": content})
            == f"appended {len(content)} characters to `f`"
        )
        assert chat.read("f") == after

    def test_a_new_file_in_new_folders(self, chat, append):
        append.run({"path": "a/b/new", "content": "x"})
        assert chat.all() == {"a": None, "a/b": None, "a/b/new": "x"}

    def test_a_new_file_has_the_usual_rights(self, chat, append):
        before = os.umask(0o027)
        try:
            append.run({"path": "new", "content": "x"})
        finally:
            os.umask(before)
        assert stat.S_IMODE((chat.root / "new").stat().st_mode) == 0o640

    @pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
    def test_a_file_keeps_its_rights_and_owner(self, chat, append, mode):
        path = chat.put("f", "a")
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(mode)
        before = path.stat()
        append.run({"path": "f", "content": "b"})
        found = path.stat()
        assert (found.st_uid, found.st_gid) == (before.st_uid, before.st_gid)
        assert stat.S_IMODE(found.st_mode) == mode

    def test_who_is_not_root_gives_a_group_nothing_that_it_did_not_have(self, chat, append):
        path = chat.put("f", "a")
        path.chmod(0o666)
        chat.root.chmod(0o777)
        with as_somebody_else(chat.root):
            append.run({"path": "f", "content": "b"})
        assert stat.S_IMODE(path.stat().st_mode) == (0o606 if os.geteuid() == 0 else 0o666)

    def test_at_the_same_time_nothing_is_lost(self, chat, append):
        other = AppendToFile(Files(str(chat.root)))
        threads = [
            threading.Thread(target=tool.run, args=({"path": "f", "content": f"{number}\n"},))
            for number in range(20)
            for tool in (append, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(chat.read("f").split()) == sorted(
            str(number) for number in range(20) for _ in "ab"
        )

    def test_a_link_stays_one(self, chat, append):
        chat.put("a/b", "x")
        (chat.root / "link").symlink_to("a/b")
        append.run({"path": "link", "content": "y"})
        assert (chat.root / "link").is_symlink()
        assert chat.read("a/b") == "x\ny"

    def test_another_name_of_the_same_file_is_not_written(self, chat, append):
        """Nor can a name inside be used to write a file outside."""
        os.link(chat.outside / "secret", chat.root / "f")
        append.run({"path": "f", "content": "y"})
        assert chat.read("f") == "secret\ny"
        assert (chat.outside / "secret").read_text() == "secret"

    @pytest.mark.parametrize("path", HOSTILE_PATHS)
    def test_hostile_paths(self, chat, append, path):
        lay_traps(chat)
        with chat.refused("cannot write `"):
            append.run({"path": path, "content": "x"})
        assert (chat.outside / "secret").read_text() == "secret"

    @pytest.mark.parametrize(
        "path",
        [
            ".git/config", ".git", "sub/.git/hooks/x", ".GIT/config", ".bylaw/rules/a.toml", "x/.bylaw/y",
            "bylaw.toml", "sub/bylaw.toml", "Bylaw.TOML", "main.chatmd", "prompts/x.chatmd", "link/config", "rules",
        ],
    )  # fmt: skip
    def test_what_is_protected(self, chat, append, path):
        chat.put(".git/config", "")
        chat.put("main.chatmd", "")
        (chat.root / "link").symlink_to(".git")
        (chat.root / "rules").symlink_to("main.chatmd")
        with chat.refused(f"cannot write `{path}`: it "):
            append.run({"path": path, "content": "x"})

    def test_who_makes_the_tool_says_what_is_protected(self, chat):
        asked = []

        def protected(path):
            asked.append(path)
            return "it is a rule in force" if path == "rules/a.toml" else None

        tool = AppendToFile(Files(str(chat.root), protected))
        chat.put("x/y", "")
        (chat.root / "rules").mkdir()
        with chat.refused("cannot write `x/../rules/a.toml`: it is a rule in force"):
            tool.run({"path": "x/../rules/a.toml", "content": "x"})
        tool.run({"path": "bylaw.toml", "content": "x"})
        assert asked == ["rules/a.toml", "bylaw.toml"]

    def test_what_is_too_large(self, chat, append):
        chat.put("f", "x" * MAX_EDITED_BYTES)
        with chat.refused("would be larger than 4,194,304 bytes"):
            append.run({"path": "f", "content": "x"})
        chat.put("g", "x" * (MAX_EDITED_BYTES + 1))
        with chat.refused("cannot change `g`: it is larger than"):
            append.run({"path": "g", "content": "x"})

    def test_what_is_no_text(self, chat, append):
        chat.put("f", b"\xff\xfe")
        with chat.refused("cannot change `f`: it is not UTF-8 text: byte 0xff at 0"):
            append.run({"path": "f", "content": "x"})
        with chat.refused("a lone surrogate"):
            append.run({"path": "g", "content": "\ud83d"})

    def test_a_file_that_must_not_be_written_is_not_replaced(self, chat, append):
        chat.put("f", "x").chmod(0o444)
        chat.root.chmod(0o777)
        with as_somebody_else(chat.root), pytest.raises(ToolError, match="permission denied"):
            append.run({"path": "f", "content": "y"})
        assert chat.all() == {"f": "x"}

    def test_nor_one_in_a_folder_that_must_not_be(self, chat, append):
        chat.put("f", "x").chmod(0o666)
        chat.root.chmod(0o555)
        with (
            as_somebody_else(chat.root),
            pytest.raises(ToolError, match="cannot write `f`: permission denied"),
        ):
            append.run({"path": "f", "content": "y"})
        assert chat.all() == {"f": "x"}


class TestReplace:
    def test_once(self, chat, replace):
        chat.put("f", "one two\n")
        assert (
            replace.run({"path": "f", "find": "one", "replace": "1"})
            == "replaced the text at 1 place of `f`"
        )
        assert chat.read("f") == "1 two\n"

    def test_everywhere(self, chat, replace):
        chat.put("f", "a b a b a")
        said = replace.run({"path": "f", "find": "a", "replace": "", "all": True})
        assert said == "replaced the text at 3 places of `f`"
        assert chat.read("f") == " b  b "

    def test_several_lines_of_a_file_with_crlf(self, chat, replace):
        chat.put("f", "a\r\nb\r\nc\r\n")
        replace.run({"path": "f", "find": "a\nb\n", "replace": "x\ny\r\nz\n"})
        assert chat.read("f") == "x\r\ny\r\nz\r\nc\r\n"

    def test_where_line_breaks_are_mixed_they_count(self, chat, replace):
        chat.put("f", "a\r\nb\nc")
        with chat.refused("is not in `f`"):
            replace.run({"path": "f", "find": "a\nb", "replace": ""})
        replace.run({"path": "f", "find": "a\r\nb", "replace": "x"})
        assert chat.read("f") == "x\nc"

    def test_not_there(self, chat, replace):
        chat.put("f", "def one():\n    return compute(1)\n")
        with chat.refused("`find` is not in `f`; the nearest is line 2: `return compute(1)`"):
            replace.run({"path": "f", "find": "return compute(2)", "replace": ""})

    def test_nothing_near(self, chat, replace):
        chat.put("f", "x\n")
        with chat.refused("`find` is not in `f`"):
            replace.run({"path": "f", "find": "something else", "replace": ""})

    def test_several_times(self, chat, replace):
        chat.put("f", "a\n\na a\n")
        with chat.refused("occurs 3 times in `f`, first in lines 1 and 3", "set `all` to true"):
            replace.run({"path": "f", "find": "a", "replace": "b"})

    def test_nothing_to_find(self, chat, replace):
        chat.put("f", "a")
        with chat.refused("`find` is empty"):
            replace.run({"path": "f", "find": "", "replace": "b", "all": True})

    def test_no_bomb(self, chat, replace):
        chat.put("f", "a" * 100_000)
        with chat.refused("would be larger than"):
            replace.run({"path": "f", "find": "a", "replace": "b" * 1_000, "all": True})

    def test_no_file(self, chat, replace):
        for path in ("f", "no/where"):
            with chat.refused(f"cannot change `{path}`: file not found"):
                replace.run({"path": path, "find": "a", "replace": "b"})

    @pytest.mark.parametrize("path", HOSTILE_PATHS)
    def test_hostile_paths(self, chat, replace, path):
        lay_traps(chat)
        with chat.refused("cannot "):
            replace.run({"path": path, "find": "secret", "replace": "x"})
        assert (chat.outside / "secret").read_text() == "secret"

    @pytest.mark.parametrize("path", [".git/config", "bylaw.toml", "a.chatmd"])
    def test_what_is_protected(self, chat, replace, path):
        chat.put(path, "x")
        with chat.refused(f"cannot write `{path}`"):
            replace.run({"path": path, "find": "x", "replace": "y"})

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            ({"path": "f", "find": "a"}, "the call needs the argument `replace`"),
            (
                {"path": "f", "find": "a", "replace": "b", "all": "yes"},
                "`all` must be true or false, not a string",
            ),
            ({"path": "f", "find": ["a"], "replace": "b"}, "`find` must be a string, not a list"),
        ],
    )
    def test_arguments(self, chat, replace, args, words):
        with chat.refused(words):
            replace.run(args)


def test_what_the_model_is_told(append, replace):
    assert append.spec.name == "append_to_file"
    assert append.spec.parameters["required"] == ["path", "content"]
    assert replace.spec.name == "find_and_replace"
    assert replace.spec.parameters["required"] == ["path", "find", "replace"]
    assert append.also == replace.also == ("file.write",)


def test_nothing_is_left_beside(chat, append, replace):
    append.run({"path": "f", "content": "a"})
    replace.run({"path": "f", "find": "a", "replace": "b"})
    assert chat.all() == {"f": "b"}
