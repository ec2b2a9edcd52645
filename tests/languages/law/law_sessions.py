"""Law texts as a session under them, and the message of the requirements (MSG) as events."""

from driving import DONE, FAILED, Driven
from law_rules import RULE, changed

from bylaw.languages import law
from bylaw.languages.base import RuleFile
from bylaw.model.event import Bus
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import ApprovalState

ID = "20240116_120000_cursor_fix-lint"
MSG = {
    "msg_id": ID,
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "A",
    "title": "Fix lint",
    "target_paths": ["src/a.ts"],
    "origin_ref": "src/a.ts",
    "created_by": "cursor",
    "notes": "",
}
DIGEST = "d1"
ALL = ["lock.acquire", "command.run", "bus.write", "lock.release"]


def loaded(*texts):
    """The book of some files, `a.yaml`, `b.yaml` and so on."""
    names = [f"{chr(ord('a') + number)}.yaml" for number in range(len(texts))]
    found = law.load(
        [
            RuleFile(SourceFile(name, text), f"digest of {name}")
            for name, text in zip(names, texts, strict=True)
        ]
    )
    errors = [one.headline for one in found.diagnostics if one.severity == "error"]
    assert not errors, errors
    return Book(dialect="law", path="law", files=tuple(names), digest="", groups=found.groups)


def under(*texts, failing=""):
    """A session under these files, in which steps of one kind fail."""
    return Driven(loaded(*texts), perform=lambda step: FAILED if step.op.value == failing else DONE)


def rules(*texts):
    """One file of several rules."""
    parts = ["  - " + text.strip().replace("\n", "\n    ") for text in texts]
    return "\n".join(['dsl_version: "0.1"', "rules:", *parts, ""])


def facts(**changes):
    return LawFacts(**{"phase": 2, "allowed_roots": ("src",), "approvals": (), **changes})


def bus(approvals=(), *, told=None, retry=0, digest=DIGEST, without=(), **message):
    """MSG with changes; `told` are changes of its facts."""
    kept = {key: value for key, value in {**MSG, **message}.items() if key not in without}
    stamped = facts(approvals=tuple(approvals), **(told or {}))
    return Bus(message=kept, digest=digest, retry=retry, facts=stamped)


def approved(by="human", **fields):
    given = {"id": ID, "authority": by, "state": ApprovalState.GRANTED, "digest": DIGEST}
    return Approval(**{**given, **fields})


def ops(happened):
    """What was performed, in order."""
    return [step.op.value for step, _ in happened.performed]


def told(happened):
    """Channel and text of everything written to the bus."""
    return [
        (step.channel.value, step.text)
        for step, _ in happened.performed
        if step.op.value == "bus.write"
    ]


def lint(*, categories="[A]", mode="none", authorities="[]", text=RULE):
    """The rule of the requirements with other guards."""
    text = changed("category_in: [A]", f"category_in: {categories}", text)
    new = f"{{mode: {mode}, authorities: {authorities}}}"
    return changed("{mode: none, authorities: []}", new, text)


def tells(rule_id, priority, *more, types="[exec]", channel="output"):
    """A rule that only writes its id."""
    lines = [
        f"rule_id: {rule_id}",
        f"priority: {priority}",
        f"trigger: {{kind: bus_input, match: {{command_types: {types}}}}}",
        f'actions: [{{type: write_bus, channel: {channel}, template: "{{{{rule_id}}}}"}}]',
        *more,
    ]
    return "\n".join(lines)


SINGLE = lint(categories="[B, C]", mode="single", authorities="[human]")
DUAL = lint(categories="[B, C]", mode="dual", authorities="[human, antigravity]")
