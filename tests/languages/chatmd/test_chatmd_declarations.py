"""`<config>` and `<tool>` at the top: what they declare, and what is wrong with them."""

import pytest
from chatmd_texts import parsed

from bylaw.languages.chatmd.header import (
    AgentTool,
    BuiltInTool,
    CommandTool,
    Config,
    McpTools,
    ReadRoot,
    ShellTool,
    read_declarations,
)
from bylaw.model.diagnostic import Severity


def declared(text):
    """What a chat declares, and the findings about it."""
    document, findings = parsed(text)
    assert not findings
    return read_declarations([(one, document.source) for one in document.elements])


def tools(text):
    """The tools of a chat that has no fault."""
    declarations, found = declared(text)
    assert not found
    return declarations.tools


def test_a_chat_that_declares_nothing():
    declarations, found = declared("<user>x</user>")
    assert (declarations.config, declarations.tools, found) == (Config(), (), [])


def test_the_first_config_counts():
    text = (
        '<config model="openai:gpt-5" max_tokens="100" temperature="0.7" reasoning_effort="high" '
        'id="c" show_tool_call show/>\n<config model="other"/>'
    )
    declarations, found = declared(text)
    assert not found
    assert declarations.config == Config(
        model="openai:gpt-5",
        max_tokens=100,
        temperature=0.7,
        reasoning_effort="high",
    )


@pytest.mark.parametrize(
    "attribute",
    [
        'max_tokens="many"', 'max_tokens="1.5"', 'max_tokens="-1"', "max_tokens", 'max_tokens=""',
        'max_tokens="1_000"', 'max_tokens="9999999999999"', 'max_tokens="١"', 'temperature="warm"',
        'temperature="nan"', 'temperature="inf"', 'temperature="1e999"', 'temperature="-1"', "temperature",
    ],
)  # fmt: skip
def test_a_bad_number_is_an_error(attribute):
    declarations, found = declared(f"<config model='m' {attribute}/>")
    assert declarations.config == Config(model="m")
    assert [(one.code, one.severity, one.underlined) for one in found] == [
        ("chatmd-bad-number", Severity.ERROR, attribute)
    ]


def test_built_in_tools_and_the_folders_they_may_read():
    text = (
        '<tool name="apply_patch"/>\n<tool name="read_file">\n  <!-- two -->\n'
        '  <read id="src" path="src" description="code"/>\n  <read id="docs" path="docs"></read>\n</tool>'
    )
    assert tools(text) == (
        BuiltInTool("apply_patch"),
        BuiltInTool("read_file", (ReadRoot("src", "src", "code"), ReadRoot("docs", "docs"))),
    )


def test_commands_and_agents():
    text = (
        '<tool name="lint" command="ruff check" description="Lints" local/>\n'
        '<tool name="ask" agent="agents/ask.chatmd" local description="Asks"/>'
    )
    assert tools(text) == (
        CommandTool("lint", "ruff check", "Lints"),
        AgentTool("ask", "agents/ask.chatmd", "Asks"),
    )


@pytest.mark.parametrize(
    ("attributes", "selection"),
    [
        ("", ()),
        ('includes="a, b ,,c"', ("a", "b", "c")),
        ('include="a" includes="b"', ("a",)),
        ('name="n" include="a" includes="b"', ("n",)),
    ],
)
def test_servers_are_read_and_not_run(attributes, selection):
    text = f'<tool mcp_server="https://x/y?z" strict client_id_env="I" client_secret_env="S" {attributes}/>'
    declarations, found = declared(text)
    assert declarations.tools == (McpTools("https://x/y?z", selection),)
    assert [(one.code, one.severity) for one in found] == [("chatmd-not-run", Severity.WARNING)]


@pytest.mark.parametrize(
    "text",
    [
        '<tool type="shell" name="sh" mode="raw"><arguments><any/></arguments></tool>',
        '<script language="chatml" kind="moderator">let x = 1</script>',
        '<shell_access id="s"><policy><rule/></policy></shell_access>',
        '<moderator_runtime shell_runtime="s"/>',
    ],
)
def test_what_is_not_run_is_said(text):
    declarations, found = declared(text)
    assert [(one.code, one.severity) for one in found] == [("chatmd-not-run", Severity.WARNING)]
    assert declarations.tools == ((ShellTool("sh"),) if "<tool" in text else ())


@pytest.mark.parametrize(
    ("text", "headline", "underlined"),
    [
        ("<tool/>", "a tool has no name", "<tool/>"),
        ("<tool name=''/>", "a tool has no name", "<tool name=''/>"),
        ("<tool command='x'/>", "a tool has no name", "<tool command='x'/>"),
        (
            "<tool name='a' command='x' agent='y' mcp_server='z'/>",
            "a tool cannot have `command` and `agent` and `mcp_server`",
            "<tool name='a' command='x' agent='y' mcp_server='z'/>",
        ),
        ("<tool name='a' command=''/>", "`command` of the tool `a` is empty", "<tool name='a' command=''/>"),
        ("<tool name='a' agent/>", "`agent` of the tool `a` is empty", "<tool name='a' agent/>"),
    ],
)  # fmt: skip
def test_a_tool_that_contradicts_itself_is_an_error(text, headline, underlined):
    declarations, found = declared(text)
    assert declarations.tools == ()
    assert [(one.code, one.severity) for one in found] == [("chatmd-bad-tool", Severity.ERROR)]
    assert (found[0].headline, found[0].underlined) == (headline, underlined)


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("<tool name='read_file'><raed id='a' path='b'/></tool>", "<raed id='a' path='b'/>"),
        ("<tool name='read_file'>src</tool>", "src"),
        ("<tool name='read_file'><read path='b'/></tool>", "<read path='b'/>"),
        ("<tool name='read_file'><read id='b'/></tool>", "<read id='b'/>"),
        ("<tool name='read_dir'><read id='a' path='b'/></tool>", "<read id='a' path='b'/>"),
        (
            "<tool name='read_file' command='x'><read id='a' path='b'/></tool>",
            "<read id='a' path='b'/>",
        ),
    ],
)
def test_what_a_tool_cannot_hold_is_an_error(text, underlined):
    """A misspelled folder must not mean that everything may be read."""
    _, found = declared(text)
    assert [(one.code, one.severity, one.underlined) for one in found] == [
        ("chatmd-bad-tool", Severity.ERROR, underlined)
    ]
