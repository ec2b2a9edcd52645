"""Chats for tests: a model that is a function, tools that are functions, everything else real."""

import os
import signal
import traceback
from contextlib import ExitStack, contextmanager
from unittest import mock

from bylaw.hosts.chat import setup
from bylaw.hosts.chat.blocks import ModelCall, Reply, ToolSpec, read_blocks
from bylaw.hosts.chat.request import messages_of
from bylaw.languages.chatmd.parser import parse
from bylaw.model.codes.runtime import JOURNAL_FULL
from bylaw.model.diagnostic import has_errors
from bylaw.model.source import SourceFile
from bylaw.model.values import as_text
from bylaw.runtime.recorder import Recorder
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import STORED_QUERY, record_from_row
from bylaw.store.journal.search import JournalReader

NAME = "test:model"


class FunctionModel:
    """Says what a function of the request says: a text, a Reply, or an error to raise."""

    name = NAME
    summarises = False
    hands_back = True
    ended = False

    def __init__(self, say):
        self.say = say
        self.requests = []

    def reply(self, request, on_text):
        self.requests.append(request)
        said = self.say(request)
        if isinstance(said, BaseException):
            raise said
        reply = Reply(text=said) if isinstance(said, str) else said
        if reply.text:
            on_text(reply.text)
        return reply

    def close(self):
        pass


def saying(*turns):
    """A model that says one thing after the other, then `done`."""
    left = list(turns)
    return FunctionModel(lambda _: left.pop(0) if left else "done")


def calling(*calls, text=""):
    """A turn that calls tools: `(id, name)` or `(id, name, arguments)`."""
    made = [(*call, {})[:3] for call in calls]
    return Reply(
        text=text, calls=tuple(ModelCall(i, name, as_text(args)) for i, name, args in made)
    )


class FunctionTool:
    """A tool that is a function of its arguments."""

    def __init__(self, name, function, also=()):
        self.spec = ToolSpec(name, "", {"type": "object"})
        self.also = also
        self.synonyms = ()
        self.run = function


class Heard:
    """Keeps what a person would see beside the blocks."""

    def __init__(self):
        self.notes = []
        self.log_lines = []
        self.blocks = []
        self.statements = []
        self._held = None

    def text(self, piece):
        (self.statements if self._held is None else self._held).append(piece)

    def hold(self):
        self._held = []

    def release(self):
        self.statements += self._held or []
        self._held = None

    def drop(self):
        self._held = None

    def note(self, text):
        self.notes.append(text)

    def log(self, level, rule, text):
        self.log_lines.append((level.value, rule, text))

    def block(self, block):
        self.blocks.append(block)


@contextmanager
def chat(path, model, tools=None, listener=None, **wanted):
    """The driver of a file, open; `tools` by name are functions in place of declared ones."""
    wanted = setup.ChatOptions(model=NAME, **wanted)
    made = [FunctionTool(*named) for named in (tools or {}).items()]
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(setup, "create_model", return_value=model))
        if tools is not None:
            stack.enter_context(mock.patch.object(setup.ToolMaker, "tools_of", return_value=made))
        yield stack.enter_context(setup.open_chat(str(path), wanted, listener or Heard()))


def run(path, model, prompts=(), **options):
    """A whole chat, from its opening to its end; what was heard."""
    listener, left = Heard(), list(prompts)
    with chat(path, model, listener=listener, **options) as driver:
        driver.run(lambda: left.pop(0) if left else None)
    listener.stopped = driver.stopped
    return listener


def blocks_of(text):
    """The blocks of a text, which has no errors."""
    document, found = parse(SourceFile("chat.chatmd", text))
    assert not has_errors(found), found
    return read_blocks((element, document.source) for element in document.elements)


def rebuilt(text):
    """The request that a text stands for."""
    return messages_of(blocks_of(text))


def killed(work):
    """Do the work in a process of its own, which is killed in the middle of it."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException:  # noqa: BLE001 - nothing of a test must go on in this process
            traceback.print_exc()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def unrecorded(*kinds):
    """The journal takes nothing of these kinds."""
    record = Recorder.record

    def fail(recorder, event, *debts, **named):
        if event.kind in kinds:
            raise JournalError(JOURNAL_FULL, "the disk is full")
        return record(recorder, event, *debts, **named)

    with mock.patch.object(Recorder, "record", fail):
        yield


def events(path, *kinds):
    """What the journal beside a file holds, of these kinds."""
    with JournalReader(f"{path.parent}/.bylaw/state/journal.db") as reader:
        found = [
            record_from_row(row).record.event
            for row in reader.each(f"{STORED_QUERY} ORDER BY r.seq")
        ]
    return [event for event in found if not kinds or event.kind in kinds]


def session_of(path):
    """The session of the chat of a file, as its journal has it."""
    with Journal(f"{path.parent}/.bylaw/state/journal.db") as journal:
        return journal.session(f"chat:{path.name}")
