"""The host of a Python program: it returns messages, calls tools as functions, and logs."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.model.effects import Log, MessageInsert, OutputReplace, PromptShow, ToolCall
from bylaw.model.verdict import is_refused
from bylaw.model.vocabulary import EffectStatus, Level, Op
from bylaw.runtime.effects import PYTHON
from bylaw.runtime.needs import LOGGER, NO_GATHERERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.engine.plan import Due
    from bylaw.model.decision import Reason
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.model.verdict import Verdict
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers

_LOGGER = logging.getLogger(LOGGER)
_LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}


class Said(Struct):
    """Messages for the model and the person that rules produced, in order."""

    messages: list[MessageInsert] = field(default_factory=list)
    prompts: list[PromptShow] = field(default_factory=list)
    output: str | None = None


class Reply:
    """The answer to one event: the verdict, its reasons and the messages of rules."""

    def __init__(self, answer: Answer, said: Said) -> None:
        self.answer = answer
        self.messages = tuple(said.messages)
        self.prompts = tuple(said.prompts)
        self.output = said.output

    @property
    def verdict(self) -> Verdict:
        """The final verdict."""
        return self.answer.verdict

    @property
    def denied(self) -> bool:
        """Whether the event must not happen. This includes `ask`: a person has not decided yet."""
        return is_refused(self.verdict)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of the decision."""
        return self.answer.deciding.reasons


class PythonHost:
    """Collect messages, and call the tools that the program provides."""

    name = PYTHON
    scribe = None

    def __init__(self, tools: Mapping[str, Callable[..., JSON]]) -> None:
        self._tools = tools
        self._thread = local()

    @property
    def gatherers(self) -> Gatherers:
        """Empty: a program passes its facts with its events."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """One method for each step."""
        return {
            Op.MESSAGE_INSERT: self._say,
            Op.PROMPT_SHOW: self._say,
            Op.OUTPUT_REPLACE: self._say,
            Op.LOG: self._log,
            Op.TOOL_CALL: self._call,
        }

    @contextmanager
    def collecting(self) -> Iterator[Said]:
        """Collect the messages of this thread inside the `with` block."""
        outer = getattr(self._thread, "said", None)  # a tool may submit events itself
        said = self._thread.said = Said()
        try:
            yield said
        finally:
            self._thread.said = outer

    def _say(self, due: Due, _event: Event) -> StepOutcome:
        said: Said = self._thread.said
        match due.step:
            case MessageInsert() as step:
                said.messages.append(step)
            case PromptShow() as step:
                said.prompts.append(step)
            case OutputReplace(text=str() as text):
                said.output = text
        return DONE

    def _log(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        _LOGGER.log(_LEVELS[due.step.level], "%s: %s", due.plan.rule, due.step.text)
        return DONE

    def _call(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, ToolCall)
        tool = self._tools.get(due.step.tool)
        if tool is None:
            return StepOutcome(
                EffectStatus.NOT_CARRIED_OUT, {"error": f"unknown tool `{due.step.tool}`"}
            )
        return StepOutcome(EffectStatus.OK, {"result": tool(**due.step.args)})
