"""Texts of the context language → blocks: what is a marker, what is open where something ends."""

import pytest
from context_documents import block, codes, initial_state, loaded, module, problems, told

from bylaw.languages.context import detect
from bylaw.languages.context.blocks import MARKER, MAX_BLOCKS, MAX_PROBLEMS, Phase, read_blocks
from bylaw.model.source import SourceFile
from contract_texts import DOC

ENUM = block("ENUM", "name: E", "values: [a]")


def spec(*lines):
    return block("LANGUAGE_SPEC", "version: 0.4.20", *lines) + "\n"


class TestMarkers:
    """AC-019 to AC-022, AC-A06"""

    @pytest.mark.parametrize(
        "line", ["[[ENUM]]", "  [[ENUM]]\t ", "\u00a0[[ENUM]]\u3000", "[[ENUM]]\r", "\x0c[[/ENUM]]"]
    )
    def test_white_space_around_a_marker_is_ignored(self, line):
        assert MARKER.search(f"prose\n{line}\nprose")["type"] == "ENUM"

    @pytest.mark.parametrize(
        "line", ["[ENUM]", "[[ ENUM ]]", "[[ENUM/]]", "see [[ENUM]]", "[[ENUM]].", "[[A1]]", "[[]]"]
    )
    def test_anything_else_is_prose(self, line):
        assert not MARKER.search(f"prose\n{line}\nprose")

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self):
        assert initial_state(loaded("\ufeff" + DOC)) == {"m.mode": "design"}
        assert not MARKER.search("prose\n\ufeff[[ENUM]]")

    def test_line_ends_of_windows_make_no_difference(self):
        assert initial_state(loaded(DOC.replace("\n", "\r\n"))) == {"m.mode": "design"}
        wrong = DOC.replace("default: design", "default: deploy")
        assert told(wrong) == told(wrong.replace("\n", "\r\n"))


class TestDetection:
    """Which of the Markdown files of a folder are documents."""

    @pytest.mark.parametrize("text", [DOC, "[[enum]]\n", "x\n[[/Module]]\n", "\ufeff[[MODULE]]"])
    def test_a_marker_makes_a_document(self, text):
        assert detect(SourceFile("a.md", text))

    @pytest.mark.parametrize("text", ["", "# Notes\n", "[[Home]]\n", "see [[MODULE]] there\n"])
    def test_notes_are_none(self, text):
        assert not detect(SourceFile("a.md", text))


class TestNesting:
    """AC-023 to AC-028, AC-A04, AC-A09, AC-A42"""

    def test_the_block_that_is_open_is_named(self):
        text = module("[[ENUM]]\nname: E\nvalues: [a]", block("STATE", "name: s", "type: Int"))

        assert [(one.message, one.place.line) for one in problems(text)] == [
            ("`[[ENUM]]` is not closed", 4),
            ("`ENUM` cannot contain other blocks", 7),
        ]

    def test_blocks_that_cross(self):
        text = "[[MODULE]]\nname: m\n[[ENUM]]\nname: E\n[[/MODULE]]\n[[/ENUM]]\n"

        assert [(one.message, one.place.line) for one in problems(text)] == [
            ("`[[ENUM]]` is not closed", 3),
            ("`[[/ENUM]]` has no opening `[[ENUM]]`", 6),
        ]

    def test_the_root_comes_first_in_its_file(self):
        assert loaded(spec() + DOC)
        assert told(DOC + spec()) == ("PARSE_ERROR", "LANGUAGE_SPEC", "", 42)

    def test_files_are_in_no_order(self):
        assert loaded(spec(), DOC)
        assert loaded(DOC, spec())

    def test_there_is_one_root_in_all_files(self):
        assert told(spec() + spec()) == ("PARSE_ERROR", "LANGUAGE_SPEC", "", 4)
        (second,) = problems(spec(), spec() + DOC)
        assert (second.place.source.path, second.place.line) == ("b.md", 1)

    @pytest.mark.parametrize("version", ["0.4.20", '"0.4.20"', "'0.4.20'", ">-\n  0.4.20"])
    def test_the_version_is_a_text(self, version):
        assert loaded(f"[[LANGUAGE_SPEC]]\nversion: {version}\n[[/LANGUAGE_SPEC]]\n{DOC}")

    @pytest.mark.parametrize(
        "line", ["version: 0.4", "version: 0.4.21", "version: []", "status: x"]
    )
    def test_a_version_that_is_not_known(self, line):
        found = told(f"[[LANGUAGE_SPEC]]\n{line}\n[[/LANGUAGE_SPEC]]\n{DOC}")

        assert found == ("SCHEMA_VIOLATION", "LANGUAGE_SPEC", "", 2)


class TestTextBlocks:
    """AC-029, AC-035 to AC-037"""

    @pytest.mark.parametrize("type_", ["COMMANDS", "ENGINEERING", "CHECKLISTS", "GUIDELINES"])
    @pytest.mark.parametrize("text", ["", "a: : b\n", "- [\n\t*x\n  ---\n", "\x00\r\n\u2028 \n"])
    def test_its_text_is_kept_to_the_byte(self, type_, text):
        source = SourceFile("a.md", f"[[MODULE]]\n[[{type_}]]\n{text}[[/{type_}]]\n[[/MODULE]]\n")
        phase = Phase()
        (found,) = read_blocks(source, phase)

        assert not phase.problems
        assert source.slice(found.blocks[0].body) == text

    def test_without_them_a_document_is_the_same(self):
        text = block("GUIDELINES", "a: : b", "[not yaml")
        with_text = DOC.replace("[[ENUM]]", f"{text}\n[[ENUM]]")

        assert initial_state(loaded(with_text)) == initial_state(loaded(DOC))
        assert list(loaded(with_text).commands.by_qualified) == ["m.setmode", "m.guard"]


class TestLimits:
    """Many mistakes are told in part, and those that stand first."""

    def test_more_blocks_than_anybody_needs(self):
        text = "[[MODULE]]\n" + f"{ENUM}\n" * (MAX_BLOCKS + 1)

        assert [one.message for one in problems(text)] == ["the file has more than 20,000 blocks"]

    def test_the_problems_that_stand_first_are_told(self):
        found = problems("[[MODULE]]\n" + "[[x]]\n" * 1_000)

        assert len(found) == MAX_PROBLEMS
        assert [one.place.line for one in found] == list(range(1, MAX_PROBLEMS + 1))
        assert found[0].message == "`[[MODULE]]` is not closed"

    def test_a_type_that_is_nearly_right(self):
        (found,) = problems("[[enum]]\n")

        assert (found.code.name, found.hint) == ("PARSE_ERROR", "did you mean `ENUM`?")
        assert codes("[[CHECKLIST]]\n") == ["PARSE_ERROR"]
