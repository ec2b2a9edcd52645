"""The story of the demo: its repository, its scripted agent, its bus, and the scenes in order.

The agent has no model. It follows the script, and the hooks of one client decide its calls, each
event in this process. Each scene builds on the files and the session of those before.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.bus.new_message import MessageOptions, NewMessages
from bylaw.hosts.bus.orchestrator import BusListener, open_bus
from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import Call, HookEvent
from bylaw.hosts.hooks.session import HookSession
from bylaw.hosts.starter import packaged_files
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import CallStatus, HookPoint
from bylaw.runtime.effects import CLAUDE
from bylaw.runtime.shared_context import TOKENS
from bylaw.store.files import os_error_text
from bylaw.worktree.git import Git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.hosts.bus.handle_message import MessageOutcome
    from bylaw.hosts.clients.base import HookReply

RELEASE = MessageOptions(
    title="Release 1.1",
    category="B",
    command_type="exec",
    paths=("src/shapes.py",),
    run=(),
    notes="area() multiplies now.",
    origin="",
    by="agent",
    approval_by=(),
    requires_approval=False,
    slug="",
    phase=None,
)


class DemoBus:
    """Send one message and run the bus."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._msg_id = ""

    def ask(self) -> str:
        """Send the message and return what the bus does with it."""
        messages = NewMessages(self._root)
        draft, _ = messages.put(messages.draft(RELEASE))
        self._msg_id = draft.msg_id
        return self._run_bus()

    def approve(self) -> str:
        """Approve the message as the person would, and return what the bus does."""
        tokens = Path(self._root, TOKENS)
        tokens.mkdir(parents=True)
        (tokens / f"{self._msg_id}.human").write_text("Approved\n", encoding="utf-8")
        return self._run_bus()

    def _run_bus(self) -> str:
        """Run the bus once. The demo wrote the rules itself, so it trusts their command."""
        found: list[MessageOutcome] = []
        telling = BusListener(found.append, lambda _: None)
        with open_bus(self._root, telling, trust=True) as opened:
            opened.orchestrator.run_once()
        return "\n".join(f"{one.status.value}: {', '.join(one.evidence)}" for one in found)


CLIENT = CLAUDE  # the agent sends the hook events of this client
SESSION = "demo"


class ScriptedAgent:
    """Work in one root. As with real hooks, each event starts without memory of the last one."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._calls = 0

    def hear(self, text: str, *, tokens: int) -> str:
        """Receive a prompt of the person."""
        return self._reply_text(
            HookEvent(name="", moment=HookPoint.PROMPT, text=text, tokens=tokens)
        )

    def search(self, query: str) -> str:
        """Call the web search. Without a network it finds nothing."""
        call = Call(tool="WebSearch", also=tools.SEARCH.also, args={"query": query})
        return self._call(call, lambda: None)

    def patch(self, path: str, text: str) -> str:
        """Change a file."""
        return self._write("apply_patch", path, text)

    def write(self, path: str, text: str) -> str:
        """Write a new file."""
        return self._write("Write", path, text)

    def stop(self, text: str) -> str:
        """Stop with this last message."""
        return self._reply_text(HookEvent(name="", moment=HookPoint.STOP, text=text))

    def _write(self, tool: str, path: str, text: str) -> str:
        call = Call(tool=tool, also=tools.WRITE.also, args={"paths": [path]})
        return self._call(call, lambda: Path(self._root, path).write_text(text, encoding="utf-8"))

    def _call(self, call: Call, run: Callable[[], object]) -> str:
        """Run a call unless Bylaw denies it, and return the reply."""
        self._calls += 1
        named = replace(call, id=f"call-{self._calls}")
        before = self._decide(HookEvent(name="", moment=HookPoint.BEFORE_TOOL, call=named))
        if before.refused:
            return before.reason
        run()
        done = replace(named, status=CallStatus.OK)
        return self._reply_text(HookEvent(name="", moment=HookPoint.AFTER_TOOL, call=done))

    def _reply_text(self, heard: HookEvent) -> str:
        told = self._decide(heard)
        return "\n".join([told.reason, *told.for_model, *told.for_person]).strip()

    def _decide(self, heard: HookEvent) -> HookReply:
        with ExitStack() as stack:
            return HookSession(self._root, CLIENT, stack).hear(heard, SESSION)


SOURCE = "src/shapes.py"
TEST = "tests/shapes_test.py"
AREA = "def area(width, height):\n    return width * height\n"
PERIMETER = "\n\ndef perimeter(width, height):\n    return 2 * (width + height)\n"
TESTS = """\
from src.shapes import area, perimeter

assert area(2, 3) == 6
assert perimeter(2, 3) == 10
"""


class Act(Struct, frozen=True):
    """One thing that the person or the agent does. `do` does it and returns the reply, if any."""

    who: str
    what: str
    do: Callable[[], str]


class Scene(Struct, frozen=True):
    """A rule of one language in action. `file` is the file of the rule."""

    title: str
    file: str
    acts: tuple[Act, ...]


def scenes(root: str) -> Iterator[Scene]:
    """Yield the scenes in order. Each one builds on the files and the session of those before."""
    agent = ScriptedAgent(root)
    yield _no_browsing(agent)
    yield _token_budget(agent)
    yield _few_patches(agent)
    yield _tests(agent)
    yield _release(DemoBus(root))


def _no_browsing(agent: ScriptedAgent) -> Scene:
    ask = "/review()\nIs area() right?"
    search = "area of a rectangle"
    return Scene(
        "A protocol denies browsing: context language",
        ".bylaw/context/modes.md",
        (
            Act("person", "/review() Is area() right?", lambda: agent.hear(ask, tokens=20_000)),
            Act("agent", f"WebSearch “{search}”", lambda: agent.search(search)),
        ),
    )


def _token_budget(agent: ScriptedAgent) -> Scene:
    ask = "/build()\nThen fix it."
    return Scene(
        "A notice when the token budget runs out: TOML rule",
        ".bylaw/rules/token-budget.toml",
        (Act("person", "/build() Then fix it.", lambda: agent.hear(ask, tokens=85_000)),),
    )


def _few_patches(agent: ScriptedAgent) -> Scene:
    patches = (AREA, AREA + PERIMETER, PERIMETER)
    return Scene(
        "A quota denies the third patch: ChatMD policy",
        "rules/few-patches.chatmd",
        tuple(
            Act("agent", f"apply_patch {SOURCE}", lambda text=text: agent.patch(SOURCE, text))  # type: ignore[misc] # the text of this turn
            for text in patches
        ),
    )


def _tests(agent: ScriptedAgent) -> Scene:
    return Scene(
        "Code must change with its tests: file policy",
        ".deepwork/policies/tests.md",
        (
            Act("agent", "is done", lambda: agent.stop("It multiplies now.")),
            Act("agent", f"Write {TEST}", lambda: agent.write(TEST, TESTS)),
            Act("agent", "is done", lambda: agent.stop("It multiplies now, and is tested.")),
        ),
    )


def _release(office: DemoBus) -> Scene:
    return Scene(
        "A command waits for an approval: RULE_DSL",
        "runtime/rules/release.yaml",
        (
            Act("agent", "sends a release request to the bus", office.ask),
            Act("person", "approves it with a token file", office.approve),
        ),
    )


_COMMANDS = (
    ("init", "-q", "-b", "main"),
    ("config", "user.name", "Bylaw"),
    ("config", "user.email", "demo@localhost"),
    ("config", "commit.gpgSign", "false"),
    ("add", "-A"),
    ("commit", "-q", "-m", "initial commit"),
)


def create_repository(root: str) -> None:
    """Write all files and commit them. Raises BylawError if a file cannot be written."""
    try:
        for path, data in packaged_files("bylaw.hosts.demo", "repository"):
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    except OSError as wrong:
        raise BylawError(f"cannot write to `{visible(root)}`: {os_error_text(wrong)}") from None
    git = Git()
    for words in _COMMANDS:
        git.output(root, *words)
