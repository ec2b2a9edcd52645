"""Set up the chats of one run: what they share, and a driver for each file.

    file → text → rules, tools, model → driver

An agent is a chat of its own with the same setup. Its file is a copy of its prompt below the state
folder, so that it can be read afterwards. Its session is that of the chat that runs it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.engine.index import RuleSet
from bylaw.hosts.chat.blocks import BlockKind, InlineReader, ModelOptions, read_blocks
from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.hosts.chat.chat_host import AgentChannel, ChatHost
from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.driver import ContextUpdates, Driver, may_withhold
from bylaw.hosts.chat.models import create_model
from bylaw.hosts.chat.resume import resume
from bylaw.hosts.chat.tool_calls import Toolbox
from bylaw.hosts.chat.tools.declarations import ToolMaker, scripted_tools
from bylaw.hosts.chat.tools.files import Files, protection_check
from bylaw.hosts.chat.transcript import AgentListener, CallIds, Transcript
from bylaw.languages.chatmd import NAME as CHATMD
from bylaw.languages.chatmd.header import expand_imports, read_declarations
from bylaw.languages.chatmd.parser import parse_cached
from bylaw.model.diagnostic import has_errors
from bylaw.model.diagnostic_text import render
from bylaw.model.display import brief
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import Library, load_root, load_texts
from bylaw.runtime.loop import Loop
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.rule_files import (
    FoundRuleFile,
    RuleFileReason,
    RuleText,
    SearchResult,
    SiblingFileReader,
)
from bylaw.runtime.rules_in_force import DisabledRules
from bylaw.runtime.sandbox.client import Cancellation
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.trust import Trust, check_trust
from bylaw.store.files import absolute, read_regular_file
from bylaw.store.journal.records import rules_with_texts
from bylaw.store.paths import as_bytes, folder_of, is_inside, real_path, relative_name
from bylaw.store.state_folder import STATE_FOLDER, state_folder
from bylaw.store.switches import read_switches
from bylaw.worktree.policies import FilePolicies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.chat_host import RunAgent
    from bylaw.hosts.chat.models.base import Model
    from bylaw.hosts.chat.transcript import Listener
    from bylaw.languages.chatmd.header import Declarations
    from bylaw.languages.chatmd.scanner import Element
    from bylaw.model.source import SourceFile
    from bylaw.runtime.root import Configuration
    from bylaw.runtime.settings import Settings
    from bylaw.store.journal.journal import Journal


class ChatContext(Struct, frozen=True, kw_only=True):
    """The parts of one chat that its driver works with.

    `withholds`: a rule may withhold an output, so nothing is shown before it is decided.
    `max_blocks` is how many times a stop can be blocked.
    """

    model: Model
    tools: Toolbox
    options: ModelOptions
    run_agent: RunAgent
    call_ids: CallIds
    news: ContextUpdates
    max_blocks: int
    withholds: bool
    policies: FilePolicies
    rules: RuleSet


# Agents can run agents. This is the greatest depth.
MAX_AGENT_DEPTH = 3
AGENTS = "agents"


class AgentRunner:
    """Runs the agents of one chat. Paths are relative to the folder of the chat file."""

    def __init__(self, stage: ChatSetup, location: str, session: str, agent: str) -> None:
        self._stage = stage
        self._folder = folder_of(location)
        self._session = session
        self._agent = agent

    def run(self, src: str, given: str) -> str:
        """Run the agent in file `src` and return its last message.

        Raises BylawError if the agent gives no answer.
        """
        location = self._location(src)
        name = relative_name(self._stage.root, location)
        depth = len(self._agent.split("/")) + 1 if self._agent else 1
        if depth > MAX_AGENT_DEPTH:
            message = f"agents can be nested at most {MAX_AGENT_DEPTH} deep"
            raise BylawError(message)
        prompt = read_regular_file(location, name).text
        agent = "/".join(filter(None, (self._agent, name.replace("/", "."))))
        path = self._copy(name, prompt)
        with ChatFile(path, self._stage.root, name) as file:
            driver = self._stage.driver(file, location, session=self._session, agent=agent)
            if given.strip():
                driver.prompt(given)
            else:  # no input: the agent answers its own file
                driver.owes_turn = True
            driver.answer()
            file.forget()
            return _last_message(driver.transcript.blocks, driver.stopped, src)

    def _location(self, src: str) -> str:
        location = real_path(absolute(src, self._folder))
        if not is_inside(location, real_path(self._stage.root)):
            raise BylawError(f"the agent `{brief(src)}` is outside the root")
        return location

    def _copy(self, name: str, prompt: str) -> str:
        """Write the prompt to a new file in the state folder and return its path."""
        stem = name.rpartition("/")[2].removesuffix(".chatmd")
        with state_folder(self._stage.root):
            folder = f"{real_path(self._stage.root)}/{STATE_FOLDER}/{AGENTS}"
            with suppress(FileExistsError):
                os.mkdir(as_bytes(folder), 0o700)  # noqa: PTH102 - Path rejects bytes
            path = f"{folder}/{stem}-{os.urandom(6).hex()}.chatmd"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(as_bytes(path), flags, 0o600), "wb") as stream:  # noqa: PTH123 - same
                stream.write(prompt.encode())
        return path


def _last_message(blocks: Sequence[Block], stopped: str, src: str) -> str:
    said = [block.text for block in blocks if block.by_model and block.kind is BlockKind.MESSAGE]
    if stopped or not said:
        raise BylawError(
            f"the agent `{brief(src)}` gave no answer" + (f": {stopped}" * bool(stopped))
        )
    return said[-1]


class ChatOptions(Struct, frozen=True, kw_only=True):
    """Options of the person who starts the chat. They apply to its agents, too."""

    model: str = ""
    tools: str = ""
    trust: bool = False


@contextmanager
def open_chat(path: str, wanted: ChatOptions, listener: Listener) -> Iterator[Driver]:
    """Open a chat and resume it, up to where a person or the model is next.

    Raises LoadError if the file, its rules or the settings do not load.
    """
    location = real_path(absolute(path))
    root = find_root(folder_of(location))
    with ExitStack() as stack:
        stage = ChatSetup(root, wanted, listener, stack)
        name = relative_name(root, location) or path
        file = stack.enter_context(ChatFile(location, root, name))
        driver = stage.driver(file, location, session=f"chat:{name}")
        resume(driver)
        yield driver
        driver.end()
        if not driver.stopped:  # else the next chat submits what was not decided
            file.settle()


class _ActiveRules(NamedTuple):
    """The active rules of one chat, and the settings that apply under them.

    `trust` is read again before any program is started.
    """

    library: Library
    trust: Callable[[], Trust]
    settings: Settings


class ChatSetup:
    """What the chats of one run share. `stack` closes it."""

    def __init__(
        self, root: str, wanted: ChatOptions, listener: Listener, stack: ExitStack
    ) -> None:
        self.root = root
        self._listener = listener
        self._wanted = wanted
        self._stack = stack
        self._configuration: Configuration = read_configuration(root)
        self._library = load_root(root)
        self._library.in_force()  # raises LoadError if the set of rules is refused
        self._switches = read_switches(root)
        self._journal: Journal = stack.enter_context(open_journal(root, self._configuration))
        self._scripts = stack.enter_context(ScriptRunner())
        self._models: dict[str, Model] = {}
        self._call_ids = CallIds()
        self._script = scripted_tools(wanted.tools) if wanted.tools else None
        self._cancellation = Cancellation()

    def driver(self, file: ChatFile, location: str, *, session: str, agent: str = "") -> Driver:
        """Return the driver of a file. Raises LoadError if the file does not load.

        `location` is the path of the file itself, or of the file that an agent's copy was made of.
        """
        listener = AgentListener(self._listener, agent) if agent else self._listener
        law = self._law(file.source, location, listener)
        declared = self._declarations(file.source, location)
        run_agent = AgentRunner(self, location, session, agent).run
        model = self._model(declared, law.settings)
        tools = self._toolbox(declared, law, run_agent, listener)
        read = self._reader(location, listener)
        transcript = Transcript(file, read, listener)
        host = ChatHost(transcript, tools, Compactor(model, read), run_agent, agent)
        policies = FilePolicies(self.root, listener.note)
        rules = RuleSet(law.library.in_force())
        loop = self._loop(host, law, policies, rules)
        switches = DisabledRules(law.library.in_force(), self._switches.disabled)
        channel = AgentChannel(loop, session, agent, switches, law.settings.model)
        outfit = ChatContext(
            model=model,
            tools=tools,
            options=_model_options(declared),
            run_agent=run_agent,
            call_ids=self._call_ids,
            news=ContextUpdates.of(law.library),
            max_blocks=law.settings.stop.max_blocks,
            withholds=may_withhold(law.library.in_force()),
            policies=policies,
            rules=rules,
        )
        return Driver(channel, transcript, outfit)

    def _law(self, source: SourceFile, location: str, listener: Listener) -> _ActiveRules:
        library = self._library_with(source, location, listener)
        trust = partial(self._trust, library)
        return _ActiveRules(library, trust, trust().in_force(self._configuration.settings))

    def _toolbox(
        self, declared: Declarations, law: _ActiveRules, run_agent: RunAgent, listener: Listener
    ) -> Toolbox:
        """Return the tools that a file declares. They do not change protected files."""
        kept = protection_check(self.root, law.settings.protect, _rule_file_paths(law.library))
        maker = ToolMaker(
            Files(self.root, kept),
            law.settings.command,
            law.trust,
            run_agent,
            listener.note,
            self._cancellation,
        )
        return Toolbox(maker.tools_of(declared), self._script, self._cancellation.cancel)

    def _loop(
        self, host: ChatHost, law: _ActiveRules, policies: FilePolicies, rules: RuleSet
    ) -> Loop:
        texts = rules_with_texts(law.library.books)
        policies.activate(rules, law.settings.command, law.trust, self._journal.redactor.text)
        return Loop(host, rules, texts, self._journal, self._scripts, policies)

    def _library_with(self, source: SourceFile, location: str, listener: Listener) -> Library:
        """Return the active books and that of the file. Errors in the file end the chat."""
        others = [one for one in self._library.governing if one.files[0].location != location]
        name = relative_name(self.root, location)
        found = FoundRuleFile(name, location, CHATMD, RuleFileReason.GIVEN, name, "")
        own = load_texts(SearchResult(self.root, (found,)), [RuleText(found, source)])
        if has_errors(own.diagnostics):
            raise LoadError(list(own.diagnostics))
        if own.diagnostics:
            listener.note(render(own.diagnostics).rstrip())
        return replace(self._library, books=(*others, *own.books), refusals=())

    def _trust(self, library: Library) -> Trust:
        if self._wanted.trust:
            return Trust.for_one_run()
        return check_trust(self.root, library, self._configuration)

    def _declarations(self, source: SourceFile, location: str) -> Declarations:
        """Return what the file declares. Its errors were reported when its rules were loaded."""
        return read_declarations(self._elements(source, location))[0]

    def _elements(self, source: SourceFile, location: str) -> list[tuple[Element, SourceFile]]:
        document, _ = parse_cached(source)
        return expand_imports(document, SiblingFileReader().of(location))[0]

    def _reader(self, location: str, listener: Listener) -> Callable[[SourceFile], list[Block]]:
        inline = InlineReader(location, self.root, listener.note)

        def read(source: SourceFile) -> list[Block]:
            placed = self._elements(source, location)
            self._call_ids.found(element for element, _ in placed)
            return read_blocks(placed, inline)

        return read

    def _model(self, declared: Declarations, settings: Settings) -> Model:
        """Return the model of the chat. Chats share one object per name, so they share a script."""
        name = self._wanted.model or _configured_model(declared) or settings.model.default or ""
        if not name:
            raise BylawError(f"no model is set; {self._model_help()}")
        if name not in self._models:
            model = create_model(name, base_url=settings.model.base_url or "")
            self._stack.callback(model.close)
            self._models[name] = model
        return self._models[name]

    def _model_help(self) -> str:
        if self._configuration.settings.model.default:
            return "`[model] default` is not trusted; run `bylaw trust`"
        return "set one with `--model`, `<config model=…/>` or `[model] default`"


def _configured_model(declared: Declarations) -> str:
    """Return the model of `<config>`. A name without a provider, as in old files, is of OpenAI."""
    name = declared.config.model
    return f"openai:{name}" if name and ":" not in name else name


def _rule_file_paths(library: Library) -> list[str]:
    """Return the paths of the rule files, which a model must not change."""
    return [found.location for book in library.books for found in book.files]


def _model_options(declared: Declarations) -> ModelOptions:
    config = declared.config
    return ModelOptions(
        max_tokens=config.max_tokens,
        temperature=config.temperature,
        reasoning_effort=config.reasoning_effort,
    )
