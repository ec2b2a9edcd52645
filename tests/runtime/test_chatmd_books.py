"""ChatMD files as books: where they count, what they start, what becomes of broken ones."""

import pytest

import bylaw
from bylaw.model.event import ToolBefore
from bylaw.model.vocabulary import Verdict
from bylaw.report.check import check
from bylaw.report.explain import explain
from bylaw.report.printers.rules import check_data
from bylaw.report.rules import show_rule
from bylaw.runtime.loader import load, load_paths, load_root
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_files import discover
from bylaw.runtime.trust import TrustState, check_trust, trust_request

NAMED = '[[book]]\npath = "prompts/main.chatmd"\n'
CALL = {"kind": "tool.before", "tool": "shell"}


def deny(reason="no"):
    return (
        f'<user>hi</user>\n<rules>\n<on id="gate" event="pre_tool_call">\n<deny reason="{reason}"/>\n'
        "</on>\n</rules>\n"
    )


@pytest.fixture
def root(tmp_path, monkeypatch, a_person):
    folder = tmp_path / "root"
    (folder / "prompts").mkdir(parents=True)
    (folder / "bylaw.toml").write_text("")
    monkeypatch.chdir(folder)
    return folder


def put(root, text, name="prompts/main.chatmd"):
    (root / name).write_text(text)


def verdict(library):
    return bylaw.Engine(library).decide(CALL).verdict


def codes(library):
    return [(one.code, one.source.path) for one in library.diagnostics]


class TestConvention:
    """A chat that nobody named governs itself only."""

    def test_it_is_loaded_and_not_in_force(self, root):
        put(root, deny())
        library = load_root(str(root))

        assert [one.book.path for one in library.books] == ["prompts/main.chatmd"]
        assert library.governing == ()
        assert verdict(library) is Verdict.ALLOW

    @pytest.mark.parametrize("named", [NAMED, '[[book]]\npath = "prompts"\n'])
    def test_it_is_in_force_when_a_book_names_it(self, root, named):
        put(root, deny())
        put(root, named, "bylaw.toml")

        assert verdict(load_root(str(root))) is Verdict.DENY

    @pytest.mark.parametrize("path", ["prompts/main.chatmd", "prompts", "."])
    def test_it_is_in_force_when_a_person_gives_it(self, root, path):
        put(root, deny())

        assert verdict(load_paths([path])) is Verdict.DENY

    def test_a_broken_one_denies_nobody_else(self, root):
        put(root, "<rules><off/></rules>")
        library = load_root(str(root))

        assert codes(library) == [("unknown-element", "prompts/main.chatmd")]
        assert verdict(library) is Verdict.ALLOW

    def test_check_says_so(self, root):
        put(root, deny())
        put(root, deny(), "named.chatmd")
        put(root, '[[book]]\npath = "named.chatmd"\n', "bylaw.toml")

        assert [(book["path"], book["why"]) for book in check_data(check([]))["books"]] == [
            ("named.chatmd", "named in bylaw.toml"),
            ("prompts/main.chatmd", "prompts/*.chatmd, for its own chat"),
        ]

    def test_naming_it_counts_from_the_next_load_on(self, root):
        put(root, deny())
        engine = bylaw.Engine(load_root(str(root)))
        assert engine.decide(CALL).verdict is Verdict.ALLOW
        put(root, NAMED, "bylaw.toml")
        engine.reload()

        assert engine.decide(CALL).verdict is Verdict.DENY

    def test_what_is_recorded_is_what_is_in_force(self, root):
        put(root, deny())
        put(root, deny("named"), "named.chatmd")
        put(root, '[[book]]\npath = "named.chatmd"\n', "bylaw.toml")
        with bylaw.Engine(load_root(str(root)), journal=str(root / "j.db")) as engine:
            engine.submit(CALL)
        explanation = explain(str(root / "j.db"), 1, "", lambda _: None)

        assert explanation.notes == ()
        assert [rule.file for rule in explanation.rules] == ["named.chatmd"]


class TestBroken:
    def test_it_denies_every_call(self, root):
        put(root, "<rules><off/></rules>")
        decision = bylaw.Engine(load_paths(["prompts"])).decide(CALL)

        assert decision.verdict is Verdict.DENY
        (reason,) = decision.reasons
        assert reason.text.startswith("`prompts/main.chatmd` does not load: line 1: `<off>`")

    def test_a_file_that_breaks_keeps_its_rules(self, root):
        put(root, deny())
        engine = bylaw.Engine(load_paths(["prompts"]))
        put(root, deny().replace("<on", "<no"))
        library = engine.reload()

        assert ("kept-old-rules", "prompts/main.chatmd") in codes(library)
        assert [one.text for one in engine.decide(CALL).reasons] == ["no"]

    def test_an_error_in_an_imported_file_breaks_the_chat_alone(self, root):
        put(root, '<import src="shared.chatmd"/>\n')
        put(root, "<policy><off/></policy>", "prompts/shared.chatmd")
        put(root, deny("good"), "good.chatmd")
        library = load_paths(["prompts/main.chatmd", "good.chatmd"])

        assert codes(library) == [("unknown-element", "prompts/main.chatmd")]
        assert not library.refusals
        reasons = bylaw.Engine(library).decide(CALL).reasons
        assert [one.file for one in reasons] == ["prompts/main.chatmd", "good.chatmd"]


class TestImports:
    def test_a_changed_import_is_another_book(self, root):
        put(root, '<import src="shared.chatmd"/>\n')
        put(root, deny("one"), "prompts/shared.chatmd")
        engine = bylaw.Engine(load_paths(["prompts/main.chatmd"]))
        put(root, deny("two"), "prompts/shared.chatmd")
        engine.reload()

        assert [one.text for one in engine.decide(CALL).reasons] == ["two"]

    def test_the_rule_is_shown_at_its_import(self, root):
        put(root, '<user>hi</user>\n<import src="shared.chatmd"/>\n')
        put(root, deny(), "prompts/shared.chatmd")
        put(root, '[[book]]\npath = "prompts/main.chatmd"\n', "bylaw.toml")

        assert show_rule("chatmd:prompts/main.chatmd#gate").lines == (
            '<import src="shared.chatmd"/>',
        )


class TestTrust:
    chat = """<tool name="grep" command="grep -r"/>
<tool name="helper" agent="helper.chatmd" local/>
<tool mcp_server="https://example.org/mcp"/>
<tool name="read_file"/>
<rules max_actions_per_event="3"><on id="r" event="turn_start">
<call tool="grep">{}</call><agent src="other.chatmd">x</agent></on></rules>
"""

    def asked(self, root):
        configuration = read_configuration(str(root))
        return load(discover(str(root), configuration)), configuration

    def test_everything_that_a_chat_can_start(self, root):
        put(root, self.chat)
        request = trust_request(*self.asked(root))
        starts = {(start.what, start.name, start.uid.partition("#")[2]) for start in request.starts}

        assert starts == {
            ("program", "grep -r", "tool:grep"),
            ("agent", "helper.chatmd", "tool:helper"),
            ("server", "https://example.org/mcp", "tool:https://example.org/mcp"),
            ("tool", "grep", "r"),
            ("agent", "other.chatmd", "r"),
        }

    def test_what_is_said_in_the_chat_asks_for_nothing_new(self, root):
        put(root, self.chat)
        before = trust_request(*self.asked(root))
        put(root, self.chat + "<user>more</user>\n")

        assert trust_request(*self.asked(root)) == before

    def test_a_chat_that_starts_nothing_needs_no_trust(self, root):
        put(root, deny())

        assert check_trust(str(root), *self.asked(root)).state is TrustState.NOT_NEEDED
        (book,) = check([]).books
        assert book.trusted
        assert not book.can_start


def test_rules_of_two_chats_do_not_mix(root):
    """Each file is a book: its ids, variables and limits are its own."""
    counted = (
        '<rules><on id="count" event="pre_tool_call" if="n == 1"><deny reason="{}"/></on>'
        '<on id="set" event="pre_tool_call" if="{}"><set var="n" value="1"/></on></rules>'
    )
    put(root, counted.format("a", "true"), "a.chatmd")
    put(root, counted.format("b", "false"), "b.chatmd")
    engine = bylaw.Engine(load_paths(["a.chatmd", "b.chatmd"]))
    engine.decide(ToolBefore(tool="x", call="1"))

    reasons = engine.decide(ToolBefore(tool="x", call="2")).reasons
    assert [(one.file, one.text) for one in reasons] == [("a.chatmd", "a")]
