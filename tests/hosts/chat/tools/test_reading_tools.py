"""`read_file` and `read_directory`: what they give, and that they stay in their folder."""

import os
import re

import pytest
from chat_folder import HOSTILE_PATHS, UNTRUSTED, lay_traps, untrusted
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.chat.tools.base import MAX_RESULT_CHARS, ToolError
from bylaw.hosts.chat.tools.file_tools import (
    MAX_ENTRIES,
    MAX_READ_BYTES,
    NamedFolder,
    ReadFile,
    ReadFolder,
)
from bylaw.hosts.chat.tools.files import Files
from bylaw.runtime.trust import Trust, TrustState
from other_user import as_somebody_else

NOTE = re.compile(
    r"\n\n---\n\[File truncated: (\d+) more bytes not shown; continue with offset (\d+)\]\Z"
)


@pytest.fixture
def read(chat):
    return ReadFile(chat.files, (), untrusted)


@pytest.fixture
def folder(chat):
    return ReadFolder(chat.files)


class TestReadFile:
    def test_a_whole_file(self, chat, read):
        chat.put("a/b.txt", "one\r\ntwo é\n\n")
        assert read.run({"file": "a/b.txt"}) == "one\r\ntwo é\n\n"
        assert read.run({"path": "./a/b.txt"}) == "one\r\ntwo é\n\n"

    def test_an_empty_one(self, chat, read):
        chat.put("empty", "")
        assert read.run({"file": "empty"}) == ""

    def test_a_piece(self, chat, read):
        chat.put("f", "0123456789\nabcdef\n")
        assert read.run({"file": "f", "offset": 11}) == "abcdef\n"
        assert read.run({"file": "f", "offset": 18}) == ""
        note = "\n\n---\n[File truncated: 7 more bytes not shown; continue with offset 11]"
        assert read.run({"file": "f", "limit": 13}) == f"0123456789\n{note}"

    def test_a_line_that_is_longer_than_the_limit_is_cut(self, chat, read):
        chat.put("f", "0123456789")
        assert read.run({"file": "f", "limit": 4}).startswith("0123\n\n---\n")

    def test_a_long_file_fits_in_a_result(self, chat, read):
        chat.put("f", "x" * 99 + "\n" + "é\n" * MAX_READ_BYTES)
        text = read.run({"file": "f"})
        assert len(text) < MAX_RESULT_CHARS
        assert "more bytes not shown" in text

    @given(
        text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=60),
        limit=st.integers(4, 20),
    )
    def test_pieces_make_the_whole(self, tmp_path_factory, text, limit):
        root = tmp_path_factory.mktemp("pieces")
        (root / "f").write_bytes(text.encode())
        tool = ReadFile(Files(str(root)), (), untrusted)

        pieces, offset = [], 0
        while offset < len(text.encode()):
            shown = tool.run({"file": "f", "offset": offset, "limit": limit})
            note = NOTE.search(shown)
            pieces.append(shown[: note.start()] if note else shown)
            offset = int(note[2]) if note else len(text.encode())
        assert "".join(pieces) == text

    def test_an_offset_behind_the_end(self, chat, read):
        chat.put("f", "abc")
        with chat.refused("cannot read `f`", "only 3 bytes"):
            read.run({"file": "f", "offset": 4})

    def test_an_offset_inside_of_a_character_goes_on_with_the_next(self, chat, read):
        chat.put("f", "é€x")
        assert read.run({"file": "f", "offset": 1}) == "€x"
        assert read.run({"file": "f", "offset": 3}) == "x"

    def test_what_is_not_utf8_is_told(self, chat, read):
        chat.put("picture.png", b"\x89PNG\r\n")
        with chat.refused("cannot read `picture.png`: it is not UTF-8 text: byte 0x89 at 0"):
            read.run({"file": "picture.png"})
        chat.put("late", b"abc\xff")
        with chat.refused("byte 0xff at 3"):
            read.run({"file": "late", "offset": 2})

    @pytest.mark.parametrize("path", HOSTILE_PATHS)
    def test_hostile_paths(self, chat, read, path):
        lay_traps(chat)
        with pytest.raises(ToolError) as failed:
            read.run({"file": path})
        assert str(failed.value).startswith("cannot read `")
        assert len(str(failed.value)) < 400
        str(failed.value).encode()

    def test_a_link_inside_is_followed(self, chat, read):
        chat.put("a/b", "inside")
        (chat.root / "link").symlink_to("a/b")
        assert read.run({"file": "link"}) == "inside"

    def test_what_may_not_be_read(self, chat, read):
        chat.put("mine", "x").chmod(0)
        with as_somebody_else(chat.root), pytest.raises(ToolError, match="permission denied"):
            read.run({"file": "mine"})

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            ({}, "the call needs the argument `file`"),
            ({"file": 1}, "`file` must be a string, not a whole number"),
            ({"file": "x", "offset": -1}, "`offset` must be at least 0"),
            ({"file": "x", "offset": 1.5}, "`offset` must be a whole number, not a number with"),
            ({"file": "x", "limit": 1}, "`limit` must be at least 4"),
            ({"file": "x", "ofset": 1}, "the call has no argument `ofset`: did you mean `offset`?"),
            ({"file": "x", "path": "y"}, "the call has no argument `path`"),
            ({"file": None}, "`file` must be a string, not null"),
        ],
    )
    def test_arguments(self, chat, read, args, words):
        with chat.refused(words):
            read.run(args)

    def test_what_the_model_is_told(self, read):
        assert read.spec.name == "read_file"
        assert read.also == ("get_contents", "file.read")
        assert read.spec.parameters == {
            "type": "object",
            "properties": {
                "file": {
                    "type": "string",
                    "description": "Path of the file, from the project root.",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "The byte at which to start.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 4,
                    "default": MAX_READ_BYTES,
                    "description": f"Bytes to read, at most {MAX_READ_BYTES}.",
                },
            },
            "required": ["file"],
            "additionalProperties": False,
        }


class TestReadRoots:
    @pytest.fixture
    def roots(self, chat):
        chat.put("data/value", "inside")
        return [
            NamedFolder("data", f"{chat.root}/data"),
            NamedFolder("far", str(chat.outside), "Far away."),
        ]

    def test_by_name(self, chat, roots):
        tool = ReadFile(chat.files, roots, Trust.for_one_run)
        assert tool.run({"root": "data", "file": "value"}) == "inside"
        assert tool.run({"root": "far", "file": "secret"}) == "secret"
        assert "`far` Far away." in tool.spec.description

    def test_nothing_else_is_read(self, chat, roots):
        tool = ReadFile(chat.files, roots, Trust.for_one_run)
        for args in (
            {"root": "data", "file": "../data/../other"},
            {"root": "far", "file": "../root/data/value"},
        ):
            with chat.refused("leads out"):
                tool.run(args)
        with chat.refused("`root` is required: known here: `data`, `far`"):
            tool.run({"file": "value"})
        with chat.refused("unknown `root` `dta`: did you mean `data`?"):
            tool.run({"root": "dta", "file": "value"})

    def test_one_needs_no_name(self, chat, roots):
        assert ReadFile(chat.files, roots[:1], untrusted).run({"file": "value"}) == "inside"

    @pytest.mark.parametrize("trust", [UNTRUSTED, Trust(TrustState.NOT_NEEDED, "")])
    def test_outside_only_what_a_person_trusts(self, chat, roots, trust):
        tool = ReadFile(chat.files, roots, lambda: trust)
        assert tool.run({"root": "data", "file": "value"}) == "inside"
        with chat.refused("cannot read in `far`", "see `bylaw trust`"):
            tool.run({"root": "far", "file": "secret"})

    def test_a_root_that_is_a_link_to_the_outside_lies_there(self, chat):
        (chat.root / "door").symlink_to("../outside")
        tool = ReadFile(chat.files, [NamedFolder("door", f"{chat.root}/door")], untrusted)
        with chat.refused("is outside"):
            tool.run({"file": "secret"})

    def test_without_roots_there_is_no_such_argument(self, chat, read):
        with chat.refused("the call has no argument `root`"):
            read.run({"file": "x", "root": "data"})


class TestReadFolder:
    def test_names_in_order(self, chat, folder):
        for path in ("b", "a/x", "a.txt", ".hidden", "é"):
            chat.put(path, "")
        (chat.root / "link").symlink_to("a")
        names = [".hidden", "a.txt", "a/", "b", "link", "é"]
        assert folder.run({}).split("\n") == names
        assert folder.run({"path": "."}) == folder.run({"path": str(chat.root)}) == folder.run({})
        assert folder.run({"path": "a"}) == "x"
        assert folder.run({"path": "link"}) == "x"

    def test_an_empty_folder(self, chat, folder):
        assert folder.run({}) == ""

    def test_names_that_are_no_text_stay_on_a_line(self, chat, folder):
        (chat.root / "a\nb").touch()
        os.close(os.open(os.fsencode(chat.root) + b"/\xff", os.O_CREAT | os.O_WRONLY))
        assert folder.run({}).split("\n") == ["\\xff", "a\\x0ab"]

    def test_a_large_folder(self, chat, folder):
        for number in range(MAX_ENTRIES + 3):
            (chat.root / f"{number:05}").touch()
        *names, more = folder.run({}).split("\n")
        assert names == [f"{number:05}" for number in range(MAX_ENTRIES)]
        assert more == "… 3 more"

    @pytest.mark.parametrize("path", ["../outside", "folder", "/etc", "nothing", "pipe", "a\0"])
    def test_hostile_paths(self, chat, folder, path):
        lay_traps(chat)
        with chat.refused("cannot read `"):
            folder.run({"path": path})

    def test_a_file_is_none(self, chat, folder):
        chat.put("f", "")
        with chat.refused("cannot read `f`"):
            folder.run({"path": "f"})

    def test_what_the_model_is_told(self, folder):
        assert folder.spec.name == "read_directory"
        assert folder.also == ("read_dir", "file.read")
