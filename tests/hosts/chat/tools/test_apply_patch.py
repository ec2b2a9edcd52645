"""`apply_patch`: the format V4A, and that a patch is applied as a whole or not at all."""

import os
import stat

import pytest
from chat_folder import HOSTILE_PATHS, lay_traps
from hypothesis import assume, given
from hypothesis import strategies as st
from patching import hunks_between, patch

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.files import MAX_EDITED_BYTES, Files
from bylaw.hosts.chat.tools.patch import DESCRIPTION, ApplyPatch, apply_hunks
from bylaw.hosts.chat.tools.patch_text import MAX_HUNKS, MAX_PATCH_CHARS, MAX_SECTIONS, parse_patch
from other_user import NOBODY, as_somebody_else


@pytest.fixture
def tool(chat):
    return ApplyPatch(chat.files)


def apply(tool, *lines):
    return tool.run({"patch": patch(*lines)})


class TestFormat:
    def test_several_files_at_once(self, chat, tool):
        chat.put("app.py", 'def greet():\n    print("Hi")\n\n\ngreet()\n')
        chat.put("old.txt", "gone\n")
        chat.put("lib/a.py", "a = 1\nb = 2\nc = 3\n")

        said = apply(
            tool,
            "*** Add File: docs/new/hello.txt",
            "+Hello",
            "+",
            "+world",
            "*** Update File: app.py",
            "*** Move to: src/main.py",
            "@@ def greet():",
            '-    print("Hi")',
            '+    print("Hello, world!")',
            "*** Delete File: old.txt",
            "*** Update File: lib/a.py",
            " a = 1",
            "-b = 2",
            "+b = 20",
            " c = 3",
        )

        assert said.split("\n") == [
            "applied the patch",
            "A docs/new/hello.txt",
            "R app.py -> src/main.py",
            "D old.txt",
            "M lib/a.py",
        ]
        assert {path: text for path, text in chat.all().items() if text is not None} == {
            "docs/new/hello.txt": "Hello\n\nworld\n",
            "src/main.py": 'def greet():\n    print("Hello, world!")\n\n\ngreet()\n',
            "lib/a.py": "a = 1\nb = 20\nc = 3\n",
        }

    def test_several_hunks(self, chat, tool):
        chat.put("f", "".join(f"{n}\n" for n in range(20)))
        apply(
            tool,
            "*** Update File: f",
            "@@",
            "-3",
            "+three",
            "@@",
            " 9",
            "-10",
            "@@",
            " 18",
            "+more",
            " 19",
        )
        expected = [str(n) for n in range(20) if n != 10]
        expected[3] = "three"
        expected.insert(expected.index("19"), "more")
        assert chat.read("f").split() == expected

    def test_several_changes_in_one_hunk(self, chat, tool):
        chat.put("f", "a\nb\nc\nd\n")
        apply(tool, "*** Update File: f", "-a", "+A", " b", "+b2", " c", "-d")
        assert chat.read("f") == "A\nb\nb2\nc\n"

    def test_a_hunk_at_the_end(self, chat, tool):
        chat.put("f", "x\n\nx\n\n")
        apply(tool, "*** Update File: f", "@@", " x", " ", "+y", "*** End of File")
        assert chat.read("f") == "x\n\nx\n\ny\n"

    def test_only_lines_at_the_end(self, chat, tool):
        chat.put("f", "x\n")
        apply(tool, "*** Update File: f", "@@", "+y", "*** End of File")
        assert chat.read("f") == "x\ny\n"

    def test_lines_for_an_empty_file(self, chat, tool):
        chat.put("f", "")
        apply(tool, "*** Update File: f", "+y")
        assert chat.read("f") == "y\n"

    def test_all_lines_go(self, chat, tool):
        chat.put("f", "a\nb\n")
        apply(tool, "*** Update File: f", "-a", "-b")
        assert chat.read("f") == ""

    def test_an_empty_new_file(self, chat, tool):
        apply(tool, "*** Add File: a", "", "*** Add File: b", "+b")
        assert chat.all() == {"a": "", "b": "b\n"}

    def test_a_move_alone(self, chat, tool):
        chat.put("a", "x").chmod(0o755)
        apply(tool, "*** Update File: a", "*** Move to: b/c")
        assert chat.all() == {"b": None, "b/c": "x"}
        assert stat.S_IMODE((chat.root / "b/c").stat().st_mode) == 0o755

    def test_a_file_without_a_line_break_at_the_end(self, chat, tool):
        chat.put("f", "a\nb")
        apply(tool, "*** Update File: f", " b", "+c")
        assert chat.read("f") == "a\nb\nc"

    def test_crlf_stays(self, chat, tool):
        chat.put("f", "a\r\nb\r\nc\r\n")
        apply(tool, "*** Update File: f", " a", "-b", "+B", "+B2", " c")
        assert chat.read("f") == "a\r\nB\r\nB2\r\nc\r\n"

    def test_a_patch_with_crlf(self, chat, tool):
        chat.put("f", "a\nb\n")
        tool.run({"patch": patch("*** Update File: f", " a", "-b", "+B").replace("\n", "\r\n")})
        assert chat.read("f") == "a\nB\n"

    def test_mixed_line_breaks_stay_where_nothing_changes(self, chat, tool):
        chat.put("f", "a\r\nb\nc\r\n")
        apply(tool, "*** Update File: f", " a", "-b", "+B", " c")
        assert chat.read("f") == "a\r\nB\nc\r\n"

    def test_a_byte_order_mark_stays(self, chat, tool):
        chat.put("f", "\ufeffa\nb\n")
        apply(tool, "*** Update File: f", "-a", "+A")
        assert chat.read("f") == "\ufeffA\nb\n"

    def test_other_separators_are_no_line_breaks(self, chat, tool):
        chat.put("f", "a\x0cb\u2028c\x85d\re\nf\n")
        apply(tool, "*** Update File: f", " a\x0cb\u2028c\x85d\re", "-f", "+F")
        assert chat.read("f") == "a\x0cb\u2028c\x85d\re\nF\n"

    def test_white_space_around_the_patch(self, chat, tool):
        tool.run({"input": "\n\n" + patch("*** Add File: a", "+x") + "  \n\n"})
        assert chat.read("a") == "x\n"

    def test_blank_lines_between_hunks_and_files(self, chat, tool):
        chat.put(
            "f", "class A:\n    def go():\n        pass\nclass B:\n    def go():\n        pass\n"
        )
        apply(
            tool,
            "",
            "*** Update File: f",
            "",
            "@@ class A:",
            "@@     def go():",
            "-        pass",
            "+        return 1",
            "",
            "@@ class B:",
            "@@     def go():",
            "-        pass",
            "+        return 2",
            "",
            "*** Add File: g",
            "+x",
            "",
        )
        assert (
            chat.read("f")
            == "class A:\n    def go():\n        return 1\nclass B:\n    def go():\n        return 2\n"
        )
        assert chat.read("g") == "x\n"

    def test_lines_without_a_sign_are_kept(self, chat, tool):
        chat.put("f", "one\n\ntwo\nthree\n")
        apply(tool, "*** Update File: f", "one", "", "-two", "+2", "three")
        assert chat.read("f") == "one\n\n2\nthree\n"

    def test_sections_go_on_from_one_another(self, chat, tool):
        chat.put("f", "a\nb\n")
        apply(
            tool,
            "*** Update File: f", "-a", "+A",
            "*** Update File: ./f", " A", "-b", "+B",
            "*** Delete File: f",
            "*** Add File: f", "+new",
            "*** Update File: f", "*** Move to: g", "+more", "*** End of File",
            "*** Add File: h", "+x",
            "*** Delete File: h",
        )  # fmt: skip
        assert chat.all() == {"g": "new\nmore\n"}

    def test_what_the_model_is_told(self, tool):
        assert tool.spec.name == "apply_patch"
        assert tool.also == ("file.write",)
        assert tool.spec.parameters["required"] == ["patch"]

    def test_the_example_of_the_description_is_a_patch(self):
        lines = DESCRIPTION.split("\n")
        example = "\n".join(
            lines[lines.index("*** Begin Patch") : lines.index("*** End Patch") + 1]
        )
        assert [type(section).__name__ for section in parse_patch(example)] == [
            "AddFile", "UpdateFile", "DeleteFile",
        ]  # fmt: skip


class TestPlaces:
    def test_exactly_counts_before_everything(self, chat, tool):
        chat.put("f", "  x\nx\nx  \n")
        apply(tool, "*** Update File: f", "-x", "+y")
        assert chat.read("f") == "  x\ny\nx  \n"

    def test_then_white_space_at_the_end_is_ignored(self, chat, tool):
        chat.put("f", "  x\nx \t\nz\n")
        apply(tool, "*** Update File: f", " x", "-z", "+y")
        assert chat.read("f") == "  x\nx \t\ny\n"

    def test_then_at_both_ends_and_the_file_keeps_its_own(self, chat, tool):
        chat.put("f", "\tif a:\n\t\tgo()\n")
        apply(tool, "*** Update File: f", " if a:", "-  go()", "+\t\tstop()")
        assert chat.read("f") == "\tif a:\n\t\tstop()\n"

    def test_several_places_are_refused(self, chat, tool):
        chat.put("f", "x\ny\nx\ny\n")
        with chat.refused(
            "hunk 1 of `f` (line 3 of the patch) fits at several places, lines 1, 3: "
        ):
            apply(tool, "*** Update File: f", " x", "-y", "+z")

    def test_an_anchor_tells_which(self, chat, tool):
        chat.put("f", "a:\n  x\nb:\n  x\nc:\n  x\n")
        apply(tool, "*** Update File: f", "@@ b:", "-  x", "+  y")
        assert chat.read("f") == "a:\n  x\nb:\n  y\nc:\n  x\n"

    def test_an_anchor_may_be_the_first_line(self, chat, tool):
        chat.put("f", "a:\n  x\nb:\n  x\n")
        apply(tool, "*** Update File: f", "@@ b:", " b:", "-  x", "+  y")
        assert chat.read("f") == "a:\n  x\nb:\n  y\n"

    def test_an_anchor_may_be_a_part_of_one_line(self, chat, tool):
        chat.put("f", "class A(Base):\n  x\nclass B(Base):\n  x\n")
        apply(tool, "*** Update File: f", "@@ class B", "-  x", "+  y")
        assert chat.read("f") == "class A(Base):\n  x\nclass B(Base):\n  y\n"
        with chat.refused("has an anchor that cannot be found"):
            apply(tool, "*** Update File: f", "@@ class", "-  y", "+  z")

    def test_anchors_lead_to_each_other(self, chat, tool):
        text = "class A:\n  def f:\n    x\n  def g:\n    x\nclass B:\n  def f:\n    x\n  def g:\n    x\n"
        chat.put("f", text)
        apply(tool, "*** Update File: f", "@@ class B:", "@@   def g:", "-    x", "+    y")
        assert chat.read("f") == text[: text.rindex("x")] + "y\n"

    def test_the_same_anchor_twice(self, chat, tool):
        chat.put("f", "def f:\n  a\n  b\n  c\ndef g:\n  b\n")
        apply(tool, "*** Update File: f", "@@ def f:", "-  a", "+  A", "@@ def f:", "-  c", "+  C")
        assert chat.read("f") == "def f:\n  A\n  b\n  C\ndef g:\n  b\n"

    def test_the_same_anchor_twice_where_both_could_be_meant(self, chat, tool):
        chat.put("f", "def f:\n  a\n  b\ndef f:\n  b\n")
        with chat.refused("hunk 2 of `f`", "fits at several places, lines 3, 5"):
            apply(
                tool, "*** Update File: f", "@@ def f:", "-  a", "+  A", "@@ def f:", "-  b", "+  B"
            )

    def test_lines_are_added_behind_an_anchor(self, chat, tool):
        chat.put("f", "a\nb\n")
        apply(tool, "*** Update File: f", "@@ a", "+x")
        assert chat.read("f") == "a\nx\nb\n"

    def test_or_behind_the_hunk_before_if_it_has_the_anchor(self, chat, tool):
        chat.put("f", "def f:\n  a\n  b\n  c\n")
        apply(tool, "*** Update File: f", "@@ def f:", "-  b", "+  B", "@@ def f:", "+  new")
        assert chat.read("f") == "def f:\n  a\n  B\n  new\n  c\n"

    def test_lines_that_are_added_nowhere(self, chat, tool):
        chat.put("f", "a\n")
        with chat.refused("hunk 1 of `f` (line 3 of the patch) does not say where"):
            apply(tool, "*** Update File: f", "@@", "+x")

    def test_hunks_out_of_order(self, chat, tool):
        chat.put("f", "a\nb\nc\n")
        with chat.refused(
            "hunk 2 of `f` (line 6 of the patch)",
            "its lines are only earlier in the file, from line 1",
        ):
            apply(tool, "*** Update File: f", "@@", "-c", "+C", "@@", "-a", "+A")

    def test_no_match(self, chat, tool):
        chat.put("src/f.py", "import os\n\n\ndef compute(value):\n    return value * 2\n")
        with chat.refused(
            "hunk 1 of `src/f.py` (line 3 of the patch) does not match",
            "the file has no line `return value * 3`; the nearest is line 5: `return value * 2`",
        ):
            apply(
                tool,
                "*** Update File: src/f.py",
                " def compute(value):",
                "-    return value * 3",
                "+    return 1",
            )

    def test_lines_that_are_there_but_not_one_after_the_other(self, chat, tool):
        chat.put("f", "one one\nother\ntwo two\n")
        with chat.refused(
            "the file does not have its lines one after the other; the nearest is line 1: `one one`"
        ):
            apply(tool, "*** Update File: f", " one one", "-two two", "+x")

    def test_no_such_anchor(self, chat, tool):
        chat.put("f", "def compute():\n    pass\n")
        with chat.refused(
            "has an anchor that cannot be found; the file has no line `def computed()",
            "line 1: `def compute():`",
        ):
            apply(tool, "*** Update File: f", "@@ def computed():", "-    pass", "+    go")

    def test_an_end_that_is_none(self, chat, tool):
        chat.put("f", "a\nb\n")
        with chat.refused("hunk 1 of `f`", "does not match the end of the file"):
            apply(tool, "*** Update File: f", "-a", "+x", "*** End of File")

    def test_a_long_file_with_many_hunks_is_quick(self, chat, tool):
        lines = [f"line {n}" for n in range(60_000)]
        chat.put("f", "\n".join(lines) + "\n")
        hunks = [one for n in range(0, 60_000, 300) for one in ("@@", f"-line {n}", f"+LINE {n}")]
        apply(tool, "*** Update File: f", *hunks)
        assert chat.read("f").count("LINE") == 200

    def test_one_line_over_and_over_takes_no_time(self, chat, tool):
        chat.put("f", "a\n" * 200_000)
        with chat.refused("does not match"):
            apply(tool, "*** Update File: f", *[" a"] * 100_000, "-b")


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "line 1 of the patch, ``: the first line must be `*** Begin Patch`"),
            ("--- a\n+++ b", "the first line must be `*** Begin Patch`"),
            ("*** Begin Patch", "line 1 of the patch, `*** Begin Patch`: the last line must be"),
            (
                "*** Begin Patch\n*** Add File: a\n+x",
                "line 3 of the patch, `+x`: the last line must be",
            ),
            (patch(), "the patch names no file"),
            (
                patch("*** Add File: ", "+x"),
                "line 2 of the patch, `*** Add File: `: the path is empty",
            ),
            (patch("*** Create File: a", "+x"), "`*** Add File: PATH`, `*** Delete File: PATH` or"),
            (
                patch("*** Add File: a", "+x", "y"),
                "line 4 of the patch, `y`: every line of a new file must begin with",
            ),
            (
                patch("*** Add File: a", "+x", "", "+y"),
                "line 5 of the patch, `+y`: every line of a new file",
            ),
            (patch("*** Delete File: a", "-x"), "a deleted file has no lines"),
            (patch("*** Update File: a"), "the update of `a` has no hunk"),
            (
                patch("*** Update File: a", "@@ x", " y"),
                "line 3 of the patch, `@@ x`: hunk 1 changes nothing",
            ),
            (patch("*** Update File: a", "@@"), "hunk 1 changes nothing"),
            (patch("*** Update File: a", "+x", "*** Move to: b"), "expected `*** Add File: PATH`"),
            (patch("*** Update File: a", "*** End of File", "+x"), "has no hunk"),
            (patch("*** Move to: a"), "expected `*** Add File: PATH`"),
            (patch(*["*** Delete File: a"] * (MAX_SECTIONS + 1)), "at most 100 files"),
            (patch("*** Update File: a", *["@@", "+x"] * (MAX_HUNKS + 1)), "at most 1,000 hunks"),
            ("x" * (MAX_PATCH_CHARS + 1), "the patch is longer than 1,000,000 characters"),
        ],
    )
    def test_what_is_no_patch(self, chat, tool, text, words):
        with chat.refused(words):
            tool.run({"patch": text})

    def test_files_that_are_not_there(self, chat, tool):
        with chat.refused("cannot update `a/b`: the file does not exist"):
            apply(tool, "*** Update File: a/b", "+x")
        with chat.refused("cannot delete `a`: the file does not exist"):
            apply(tool, "*** Delete File: a")

    def test_files_that_are(self, chat, tool):
        chat.put("a", "x")
        chat.put("b", "y")
        with chat.refused("cannot add `./a`: the file already exists"):
            apply(tool, "*** Add File: ./a", "+x")
        with chat.refused("cannot move to `b`: the file already exists"):
            apply(tool, "*** Update File: a", "*** Move to: b")

    def test_links_are_neither_deleted_nor_moved(self, chat, tool):
        chat.put("a", "x")
        (chat.root / "link").symlink_to("a")
        with chat.refused("cannot delete `link`: it is a link to `a`"):
            apply(tool, "*** Delete File: link")
        with chat.refused("cannot move `link`: it is a link to `a`"):
            apply(tool, "*** Update File: link", "*** Move to: b")

    def test_what_a_link_leads_to_is_updated(self, chat, tool):
        chat.put("a", "x\n")
        (chat.root / "link").symlink_to("a")
        apply(tool, "*** Update File: link", "-x", "+y")
        assert chat.read("a") == "y\n"
        assert (chat.root / "link").is_symlink()

    @pytest.mark.parametrize("path", [p for p in HOSTILE_PATHS if p.strip() and "\n" not in p])
    @pytest.mark.parametrize(
        "form",
        [("*** Add File: {}", "+x"), ("*** Delete File: {}",), ("*** Update File: {}", "+x")],
    )
    def test_hostile_paths(self, chat, tool, path, form):
        lay_traps(chat)
        with chat.refused("cannot write `"):
            apply(tool, "*** Add File: first", "+x", *(line.format(path) for line in form))
        with chat.refused("cannot write `"):
            apply(
                tool,
                "*** Add File: g",
                "+x",
                "*** Update File: g",
                f"*** Move to: {path}",
                "+y",
                "*** End of File",
            )
        assert (chat.outside / "secret").read_text() == "secret"

    @pytest.mark.parametrize("path", [".git/config", ".bylaw/state/x", "bylaw.toml", "chat.chatmd"])
    def test_what_is_protected(self, chat, tool, path):
        chat.put(path, "x\n")
        chat.put("mine", "y\n")
        for lines in (
            ("*** Update File: " + path, "-x", "+y"),
            ("*** Delete File: " + path,),
            ("*** Update File: " + path, "*** Move to: free"),
            ("*** Update File: mine", "*** Move to: " + path),
            ("*** Add File: " + path, "+x"),
        ):
            with chat.refused(f"cannot write `{path}`: it "):
                apply(tool, *lines)

    def test_what_is_no_text_can_only_be_deleted(self, chat, tool):
        chat.put("a", b"\xff")
        with chat.refused("cannot change `a`: it is not UTF-8 text: byte 0xff at 0"):
            apply(tool, "*** Update File: a", "+x")
        apply(tool, "*** Delete File: a")
        assert chat.all() == {}

    def test_what_is_too_large(self, chat, tool):
        chat.put("a", "x\n" * (MAX_EDITED_BYTES // 2))
        with chat.refused("cannot write `a`: it would be larger than"):
            apply(tool, "*** Add File: b", "+b", "*** Update File: a", "+y", "*** End of File")


class TestAllOrNothing:
    """Everything is checked first; what fails later is undone."""

    MANY = (
        "*** Update File: one", "-1", "+eins",
        "*** Add File: new/folder/file", "+x",
        "*** Delete File: two",
        "*** Update File: three", "*** Move to: drei", "-3", "+drei",
    )  # fmt: skip

    @pytest.fixture
    def files(self, chat):
        for name, text in (("one", "1\n"), ("two", "2\n"), ("three", "3\n"), ("shut/four", "4\n")):
            chat.put(name, text).chmod(0o666)
        chat.put("shut/deep/five", "5\n")
        return chat

    def test_a_hunk_that_fits_nowhere(self, files, tool):
        with files.refused("hunk 1 of `shut/four`"):
            apply(tool, *self.MANY, "*** Update File: shut/four", "-5", "+x")

    def test_a_folder_that_is_shut(self, files, tool):
        files.root.chmod(0o777)
        (files.root / "shut").chmod(0o555)
        before = files.all()
        for last in (
            ("*** Update File: shut/four", "-4", "+vier"),
            ("*** Delete File: shut/four",),
            ("*** Add File: shut/more", "+x"),
            ("*** Add File: shut/other/more", "+x"),
        ):
            with (
                as_somebody_else(files.root),
                pytest.raises(ToolError, match=r"cannot write `shut/.*: permission"),
            ):
                apply(tool, *self.MANY, *last)
            assert files.all() == before

    def test_inodes_rights_and_times_stay_too(self, files, tool):
        """What was not changed was not written anew either."""
        files.root.chmod(0o777)
        (files.root / "shut").chmod(0o555)
        states = {path: (files.root / path).stat() for path in ("one", "two", "three")}
        for path in states if os.geteuid() == 0 else ():
            os.chown(files.root / path, NOBODY, NOBODY)
        with as_somebody_else(files.root), pytest.raises(ToolError):
            apply(tool, *self.MANY, "*** Add File: shut/more", "+x")
        for path, state in states.items():
            found = (files.root / path).stat()
            assert (found.st_ino, found.st_mtime_ns, found.st_nlink) == (
                state.st_ino,
                state.st_mtime_ns,
                1,
            )

    def test_a_rename_that_fails_at_last(self, files, tool, monkeypatch):
        """Nothing cheap makes one of many renames fail, so the last one is made to."""
        from bylaw.hosts.chat.tools import files as chat_files  # noqa: PLC0415 - only here

        for failing in range(4):
            seen = []

            def rename(folder, old, new, failing=failing, seen=seen, real=chat_files.os.rename):
                seen.append(new)
                if len(seen) == failing + 1 and new in {"one", "file", "drei"}:
                    raise OSError(28, "No space left on device")
                real(old, new, src_dir_fd=folder, dst_dir_fd=folder)

            monkeypatch.setattr(chat_files, "rename", rename)
            if failing < 3:
                with files.refused("No space left on device"):
                    apply(tool, *self.MANY)
        monkeypatch.undo()
        apply(tool, *self.MANY)
        assert "drei" in files.all()

    @pytest.mark.skipif(os.geteuid() != 0, reason="files of two users are needed")
    def test_a_folder_in_which_only_the_owner_of_a_file_may_replace_it(self, files, tool):
        files.root.chmod(0o777)
        (files.root / "shut").chmod(0o1777)
        before = files.all()
        for last in (
            ("*** Update File: shut/four", "-4", "+vier"),
            ("*** Delete File: shut/four",),
        ):
            for lines in (last, (*self.MANY, *last)):
                with as_somebody_else(files.root), pytest.raises(ToolError, match="permi"):
                    apply(tool, *lines)
                assert files.all() == before

    def test_a_name_that_is_too_long_for_what_is_beside_it(self, files, tool):
        with files.refused("cannot write `", "File name too long"):
            apply(tool, *self.MANY, f"*** Add File: new/{'n' * 250}", "+x")

    def test_a_file_where_a_folder_is_to_be(self, files, tool):
        for one, other in (("a", "a/b"), ("a/b/c", "a")):
            with files.refused(f"cannot add `{other}`: either it or `{one}` would be a folder"):
                apply(
                    tool, f"*** Add File: {one}", "+x", *self.MANY, f"*** Add File: {other}", "+x"
                )

    def test_who_changes_a_file_meanwhile_loses_nothing(self, files):
        """Somebody writes between the reading and the writing."""
        count = 0

        def protected(path):
            nonlocal count
            count += 1
            if path == "drei":  # named last, when all else was read
                (files.root / "one").write_text("mine\n")

        tool = ApplyPatch(Files(str(files.root), protected))
        with pytest.raises(ToolError, match="cannot write `one`: it has changed in the meantime"):
            apply(tool, *self.MANY)
        assert files.read("one") == "mine\n"
        assert files.read("two") == "2\n"
        assert "new" not in files.all()

    def test_who_puts_a_link_in_the_way_leads_nobody_out(self, files):
        def protected(path):
            if path == "drei":
                (files.root / "new").symlink_to("../outside")

        tool = ApplyPatch(Files(str(files.root), protected))
        with pytest.raises(ToolError, match="cannot write `new/folder/file`"):
            apply(tool, *self.MANY)
        assert [path.name for path in files.outside.iterdir()] == ["secret"]
        assert files.read("one") == "1\n"

    def test_nothing_is_left_beside(self, files, tool):
        apply(tool, *self.MANY)
        names = {path for path, text in files.all().items() if text is not None}
        assert names == {"one", "new/folder/file", "drei", "shut/four", "shut/deep/five"}


LINE = st.text(st.sampled_from("ab \t+-@*\x0cé"), max_size=4)
LINES = st.lists(LINE, max_size=12)


class TestRandom:
    @given(old=LINES, new=LINES, context=st.integers(0, 4), crlf=st.booleans(), ends=st.booleans())
    def test_a_patch_of_two_texts_gives_the_second(
        self, tmp_path_factory, old, new, context, crlf, ends
    ):
        assume(old != new)
        # Without a line break at the end, an empty last line is none.
        assume(ends or (old and new and old[-1] and new[-1]))
        root = tmp_path_factory.mktemp("random")
        (root / "f").write_bytes(_text(old, crlf=crlf, ends=ends))
        tool = ApplyPatch(Files(str(root)))
        if refused := self.refusal(tool, hunks_between(old, new, context)):
            # Few lines around a change may fit at several places, or nowhere; all of them never.
            assert "hunk" in refused
            assert (root / "f").read_bytes() == _text(old, crlf=crlf, ends=ends)
            assert self.refusal(tool, hunks_between(old, new, len(old))) == ""
        # How lines end is only known where there is a line break.
        known = len(old) + ends > 1
        assert (root / "f").read_bytes() == _text(new, crlf=crlf and known, ends=ends)

    def refusal(self, tool, hunks):
        try:
            apply(tool, "*** Update File: f", *hunks)
        except ToolError as refused:
            return str(refused)
        return ""

    @given(text=st.text(st.sampled_from("ab\n +-@*"), max_size=80), noise=st.text(max_size=40))
    def test_any_text_is_applied_or_refused(self, tmp_path_factory, text, noise):
        root = tmp_path_factory.mktemp("noise")
        (root / "f").write_text("a\nb\n")
        tool = ApplyPatch(Files(str(root)))
        for written in (
            noise,
            patch(noise),
            patch("*** Update File: f", text),
            patch(text, "*** Update File: f", noise),
        ):
            try:
                tool.run({"patch": written})
            except ToolError as refused:
                str(refused).encode()

    @given(lines=LINES, hunk=LINES)
    def test_lines_that_stand_once_are_found(self, lines, hunk):
        assume(hunk)
        text = [*lines, "<begin>", *hunk, "<end>", *lines]
        (section,) = parse_patch(
            patch("*** Update File: f", "@@", " <begin>", *(f"-{line}" for line in hunk), " <end>")
        )
        content = "".join(f"{line}\n" for line in text)
        expected = "".join(f"{line}\n" for line in [*lines, "<begin>", "<end>", *lines])
        assert apply_hunks("f", content, section.hunks) == expected


def _text(lines, *, crlf, ends):
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    return (text.replace("\n", "\r\n") if crlf else text).encode()
