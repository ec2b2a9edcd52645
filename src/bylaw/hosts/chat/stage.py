"""Set up the chats of one run: what they share, and a driver for each file.

    file → text → rules, tools, model → driver

An agent is a chat of its own with the same setup. Its file is a copy of its prompt, and its session
is that of the chat that runs it.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.chatmd.declarations import read_declarations
from bylaw.dialects.chatmd.imports import expanded
from bylaw.dialects.chatmd.names import NAME as CHATMD
from bylaw.dialects.chatmd.syntax.once import parse_once
from bylaw.engine.index import RuleSet
from bylaw.hosts.base import Loop
from bylaw.hosts.chat.agents import AgentRunner
from bylaw.hosts.chat.blocks import read_blocks
from bylaw.hosts.chat.call_ids import CallIds
from bylaw.hosts.chat.channel import Channel
from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.hosts.chat.chat_host import ChatHost
from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.context_news import ContextNews, may_withhold
from bylaw.hosts.chat.driver import Driver
from bylaw.hosts.chat.inline import InlineReader
from bylaw.hosts.chat.listener import Aside
from bylaw.hosts.chat.messages import Options
from bylaw.hosts.chat.models.named import model_named
from bylaw.hosts.chat.outfit import Outfit
from bylaw.hosts.chat.resume import resume
from bylaw.hosts.chat.toolbox import Toolbox
from bylaw.hosts.chat.tools.declared import ToolMaker
from bylaw.hosts.chat.tools.files import Files
from bylaw.hosts.chat.tools.protection import protection
from bylaw.hosts.chat.tools.script import scripted_tools
from bylaw.hosts.chat.transcript import Transcript
from bylaw.hosts.worktree.policy_host import FilePolicies
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.beside import Surroundings
from bylaw.runtime.discovery import Found, Search, Why
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import rules_with_texts
from bylaw.runtime.loading import Library, load_read, load_root
from bylaw.runtime.paths import folder_of, name_from, real_path
from bylaw.runtime.root import absolute, find_root, read_configuration
from bylaw.runtime.rule_texts import RuleText
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.switches import read_switches
from bylaw.runtime.switching import Switchboard
from bylaw.runtime.trust import Trust, trust_of
from bylaw.runtime.watched.cancellation import Cancellation
from bylaw.tools.printers.text import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.chatmd.declarations import Declarations
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.chat_host import RunAgent
    from bylaw.hosts.chat.listener import Listener
    from bylaw.hosts.chat.models.base import Model
    from bylaw.model.source import SourceFile
    from bylaw.runtime.configuration import Configuration
    from bylaw.runtime.journal.store import Journal
    from bylaw.runtime.settings import Settings


class Wanted(Struct, frozen=True, kw_only=True):
    """Options of the person who starts the chat. They apply to its agents, too."""

    model: str = ""
    tools: str = ""
    trust: bool = False


@contextmanager
def open_chat(path: str, wanted: Wanted, listener: Listener) -> Iterator[Driver]:
    """Open a chat and resume it, up to where a person or the model is next.

    Raises LoadError if the file, its rules or the settings do not load.
    """
    location = real_path(absolute(path))
    root = find_root(folder_of(location))
    with ExitStack() as stack:
        stage = Stage(root, wanted, listener, stack)
        name = name_from(root, location) or path
        file = stack.enter_context(ChatFile(location, root, name))
        driver = stage.driver(file, location, session=f"chat:{name}")
        resume(driver)
        yield driver
        driver.end()
        if not driver.stopped:  # else the next chat submits what was not decided
            file.settle()


class _Law(NamedTuple):
    """The active rules of one chat, and the settings that apply under them.

    `trust` is read again before any program is started.
    """

    library: Library
    trust: Callable[[], Trust]
    settings: Settings


class Stage:
    """What the chats of one run share. `stack` closes it."""

    def __init__(self, root: str, wanted: Wanted, listener: Listener, stack: ExitStack) -> None:
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
        listener = Aside(self._listener, agent) if agent else self._listener
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
        switches = Switchboard(law.library.in_force(), self._switches.disabled)
        channel = Channel(loop, session, agent, switches, law.settings.model)
        outfit = Outfit(
            model=model,
            tools=tools,
            options=_options(declared),
            run_agent=run_agent,
            call_ids=self._call_ids,
            news=ContextNews.of(law.library),
            max_blocks=law.settings.stop.max_blocks,
            withholds=may_withhold(law.library.in_force()),
            policies=policies,
            rules=rules,
        )
        return Driver(channel, transcript, outfit)

    def _law(self, source: SourceFile, location: str, listener: Listener) -> _Law:
        library = self._library_with(source, location, listener)
        trust = partial(self._trust, library)
        return _Law(library, trust, trust().in_force(self._configuration.settings))

    def _toolbox(
        self, declared: Declarations, law: _Law, run_agent: RunAgent, listener: Listener
    ) -> Toolbox:
        """Return the tools that a file declares. They do not change protected files."""
        kept = protection(self.root, law.settings.protect, _locations(law.library))
        maker = ToolMaker(
            Files(self.root, kept),
            law.settings.command,
            law.trust,
            run_agent,
            listener.note,
            self._cancellation,
        )
        return Toolbox(maker.tools_of(declared), self._script, self._cancellation.cancel)

    def _loop(self, host: ChatHost, law: _Law, policies: FilePolicies, rules: RuleSet) -> Loop:
        texts = rules_with_texts(law.library.books)
        policies.put_in_force(rules, law.settings.command, law.trust, self._journal.redactor.text)
        return Loop(host, rules, texts, self._journal, self._scripts, policies)

    def _library_with(self, source: SourceFile, location: str, listener: Listener) -> Library:
        """Return the active books and that of the file. Errors in the file end the chat."""
        others = [one for one in self._library.governing if one.files[0].location != location]
        name = name_from(self.root, location)
        found = Found(name, location, CHATMD, Why.GIVEN, name, "")
        own = load_read(Search(self.root, (found,)), [RuleText(found, source)])
        if has_errors(own.diagnostics):
            raise LoadError(list(own.diagnostics))
        if own.diagnostics:
            listener.note(render(own.diagnostics).rstrip())
        return replace(self._library, books=(*others, *own.books), refusals=())

    def _trust(self, library: Library) -> Trust:
        if self._wanted.trust:
            return Trust.for_one_run()
        return trust_of(self.root, library, self._configuration)

    def _declarations(self, source: SourceFile, location: str) -> Declarations:
        """Return what the file declares. Its errors were reported when its rules were loaded."""
        return read_declarations(self._placed(source, location))[0]

    def _placed(self, source: SourceFile, location: str) -> list[tuple[Element, SourceFile]]:
        document, _ = parse_once(source)
        return expanded(document, Surroundings().of(location))[0]

    def _reader(self, location: str, listener: Listener) -> Callable[[SourceFile], list[Block]]:
        inline = InlineReader(location, self.root, listener.note)

        def read(source: SourceFile) -> list[Block]:
            placed = self._placed(source, location)
            self._call_ids.found(element for element, _ in placed)
            return read_blocks(placed, inline)

        return read

    def _model(self, declared: Declarations, settings: Settings) -> Model:
        """Return the model of the chat. Chats share one object per name, so they share a script."""
        name = self._wanted.model or _of_file(declared) or settings.model.default or ""
        if not name:
            raise BylawError(f"no model is set; {self._naming()}")
        if name not in self._models:
            model = model_named(name, base_url=settings.model.base_url or "")
            self._stack.callback(model.close)
            self._models[name] = model
        return self._models[name]

    def _naming(self) -> str:
        if self._configuration.settings.model.default:
            return "`[model] default` is not trusted; run `bylaw trust`"
        return "set one with `--model`, `<config model=…/>` or `[model] default`"


def _of_file(declared: Declarations) -> str:
    """Return the model of `<config>`. A name without a provider, as in old files, is of OpenAI."""
    name = declared.config.model
    return f"openai:{name}" if name and ":" not in name else name


def _locations(library: Library) -> list[str]:
    """Return the paths of the rule files, which a model must not change."""
    return [found.location for book in library.books for found in book.files]


def _options(declared: Declarations) -> Options:
    config = declared.config
    return Options(
        max_tokens=config.max_tokens,
        temperature=config.temperature,
        reasoning_effort=config.reasoning_effort,
    )
