"""The document of the context language itself, unchanged, mended and with what it forgot."""

from pathlib import Path

from context_documents import SEED, initial_state, loaded, payload, problems, told

from bylaw.languages.context.lowering import lower_document

TEXT = SEED.read_text(encoding="utf-8")
PAGE = Path(__file__).parents[3] / "spec" / "context" / "language.md"
BROKEN = """\
block_types:
    - ENGINEERING
    - CHECKLISTS
    - GUIDELINES
"""
# As many lines as before, so that places behind it stay those of the document.
MENDED = """\
block_types:
  must_be_contained_in_module: [
    ENUM, STATE, COMMAND, RESPONSE, WORKFLOW, PROTOCOL,
    COMMANDS, ENGINEERING, CHECKLISTS, GUIDELINES]
"""
PROTOCOL = """\
  - id: "no_intent_inference"
    rules: [{id: no_web, check: {preset: no_browsing}}]
[[/PROTOCOL]]"""


def mended():
    assert TEXT.count(BROKEN) == 1
    return TEXT.replace(BROKEN, MENDED)


def whole():
    return mended().replace("[[/PROTOCOL]]", PROTOCOL, 1)


def test_as_it_stands_it_is_no_yaml():
    """AC-188"""
    assert told(TEXT) == ("PARSE_ERROR", "LANGUAGE_SPEC", "", 114)
    assert payload(TEXT) == (
        "ERROR: ai-context-language\n"
        "code: PARSE_ERROR\n"
        'message: "unexpected text in a mapping"\n'
        "details:\n"
        "  block_type: LANGUAGE_SPEC\n"
        "  line: 114\n"
        'hint: "check the indentation; put the whole value in quotes, not a part of it"'
    )


def test_line_ends_of_windows_change_nothing():
    """AC-188"""
    assert payload(TEXT.replace("\n", "\r\n")) == payload(TEXT)


def test_mended_it_refers_to_a_protocol_that_is_not_there():
    """AC-189, AC-A01, AC-A37"""
    assert told(mended()) == ("UNKNOWN_ID", "WORKFLOW", "chat_start", 534)
    assert payload(mended()) == (
        "ERROR: ai-context-language\n"
        "code: UNKNOWN_ID\n"
        "message: \"unknown protocol 'no_intent_inference'\"\n"
        "details:\n"
        "  block_type: WORKFLOW\n"
        "  id: chat_start\n"
        "  line: 534"
    )


def test_the_second_reference_is_that_of_a_command():
    """AC-189"""
    _, second = problems(mended())
    place = second.place

    assert (place.block_type, place.id, place.line) == ("COMMAND", "summarize", 667)


def test_with_that_protocol_it_loads():
    """AC-190, AC-039"""
    document = loaded(whole())
    (module,) = document.modules
    tables = (document.responses, document.protocols, document.workflows)
    tables += (document.enums, document.states, document.commands)

    assert module.name.text == "exampleModule"
    assert [len(table.by_qualified) for table in tables] == [1, 2, 1, 4, 4, 2]
    assert {name: len(one.what.values) for name, one in document.enums.by_qualified.items()} == {
        "exampleModule.WorkMode": 7,
        "exampleModule.CheckType": 5,
        "exampleModule.PresetId": 4,
        "exampleModule.OutputStyle": 3,
    }


def test_its_variables_before_anything_is_said():
    """AC-191"""
    assert initial_state(loaded(whole())) == {
        "exampleModule.userWorkMode": "design",
        "exampleModule.responseMode": "compact",
        "exampleModule.verbose": False,
        "exampleModule.maxTokens": 1200,
    }


def test_its_policy_is_four_checks():
    """AC-194"""
    document = loaded(whole())
    policy = document.protocols.by_qualified["exampleModule.tool_policy"].what

    assert [
        str(check.type) + " " + check.about for rule in policy.rules for check in rule.checks
    ] == [
        "forbid_tool web.run",
        "forbid_tool python.exec",
        "forbid_tool python_user_visible.exec",
        "forbid_tool container.exec",
    ]
    (_, checks) = lower_document(document, {})
    assert sum("tool_policy" in rule.uid for rule in checks.rules) == 4


def test_the_page_shows_the_whole_block_with_the_missing_key():
    """AC-A01"""
    types = (
        "ENUM STATE COMMAND RESPONSE WORKFLOW PROTOCOL COMMANDS ENGINEERING CHECKLISTS GUIDELINES"
    )
    listed = "".join(f"    - {one}\n" for one in types.split())
    text = TEXT.replace(BROKEN, f"block_types:\n  must_be_contained_in_module:\n{listed}")
    block = text[text.index("[[LANGUAGE_SPEC]]") : text.index("[[/LANGUAGE_SPEC]]")]

    assert block in PAGE.read_text(encoding="utf-8")
