"""Texts of rule files → rules as written, and the findings about them.

For a wrong value the reader adds a finding and returns a default, so that one run reports every
problem of a file.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from bylaw.expr.expression import check_condition
from bylaw.languages.toml import TomlDocument, read_toml
from bylaw.languages.toml_rules.actions import check_templates, read_action
from bylaw.languages.toml_rules.syntax import (
    DEFAULT_PRIORITY,
    DEFAULT_VERSION,
    Hook,
    RulePart,
    RuleSyntax,
    WriteLog,
)
from bylaw.model.codes import toml_rules as codes
from bylaw.model.codes.toml_rules import MISSING_KEY, NOT_A_CHOICE, UNKNOWN_KEY, WRONG_VALUE
from bylaw.model.diagnostic import MAX_ERRORS, FindingList, error, warning
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bylaw.languages.toml_rules.syntax import Action
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic

# What a value must be, and an example.
TEXT = ("a text", '"…"')
BOOLEAN = ("`true` or `false`", "true")
INTEGER = ("a whole number", "100")
Path: TypeAlias = "tuple[str | int, ...]"
Choice = TypeVar("Choice", bound=StrEnum)


class TomlFindings(FindingList):
    """The findings about one document, and its templates, which are checked later."""

    def __init__(self, document: TomlDocument) -> None:
        super().__init__()
        self.document = document
        self.templates: list[tuple[Path, str]] = []

    def refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add an error: the file will not load."""
        self.add(error(code, headline, self.document.source, span, help=help_))

    def warn(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add a warning: the file loads, but probably contains a mistake."""
        self.add(warning(code, headline, self.document.source, span, help=help_))

    def relocate(self, found: Sequence[Diagnostic], path: Path) -> None:
        """Add findings about a string, moved to their places in the document."""
        if found:
            place = self.document.string(*path)
            self.add(*(place.relocated(one) for one in found))

    def section(self, name: str) -> Section | None:
        """Return a table of the document; None if it is missing or not a table."""
        values = self.document.values.get(name)
        if isinstance(values, dict):
            return Section(self, name, values)
        if values is not None:
            headline = f"`{name}` must be a table"
            span = self.document.value_span(name)
            self.refuse(WRONG_VALUE, headline, span, f"write `[{name}]` once")
        return None

    def close(self, known: Collection[str], *path: str) -> None:
        """Report every unknown key of a table."""
        table = self.document.values
        for step in path:
            table = table[step]
        for key in [key for key in table if key not in known][:MAX_ERRORS]:
            where = f" in `[{'.'.join(path)}]`" if path else ""
            headline = f"unknown key `{brief(key)}`{where}"
            span = self.document.key_span(*path, key)
            self.refuse(UNKNOWN_KEY, headline, span, did_you_mean(key, known))


class Section:
    """The values of one table."""

    def __init__(self, findings: TomlFindings, name: str, values: dict[str, Any]) -> None:
        self.findings = findings
        self.name = name
        self.values = values

    @property
    def span(self) -> Span:
        """The place of the table header."""
        return self.findings.document.value_span(self.name)

    def place(self, key: str) -> Span:
        """Return the place of the value of a key."""
        return self.findings.document.value_span(self.name, key)

    def require(self, key: str, code: Code = MISSING_KEY) -> None:
        """Report a key that is missing."""
        if key not in self.values:
            self.findings.refuse(code, f"`[{self.name}]` has no `{key}`", self.span, "add it")

    def text(self, key: str, default: str = "") -> str:
        """Return a text."""
        value = self.values.get(key, default)
        return value if isinstance(value, str) else self._refuse_value(key, TEXT, default)

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(key, default)
        return value if isinstance(value, bool) else self._refuse_value(key, BOOLEAN, default)

    def integer(self, key: str, default: int) -> int:
        """Return a whole number. A boolean is not a number here."""
        value = self.values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        wrong: int = self._refuse_value(key, INTEGER, default)
        return wrong

    def choice(self, key: str, choices: type[Choice], default: Choice) -> Choice:
        """Return one of the members of an enum."""
        text = self.text(key, default.value)
        try:
            return choices(text)
        except ValueError:
            self._refuse_choice(key, text, choices)
            return default

    def add_template(self, text: str, path: Path) -> None:
        """Collect a template of this table, to be checked later."""
        self.findings.templates.append(((self.name, *path), text))

    def _refuse_choice(self, key: str, text: str, choices: type[StrEnum]) -> None:
        listed = ", ".join(f"`{one.value}`" for one in choices)
        headline = (
            f"invalid value `{brief(text)}` for `{key}`" if text.strip() else f"`{key}` is empty"
        )
        self.findings.refuse(NOT_A_CHOICE, headline, self.place(key), f"use one of {listed}")

    def _refuse_value(self, key: str, wanted: tuple[str, str], default: Any) -> Any:
        what, written = wanted
        help_ = f"write it as in `{key} = {written}`"
        self.findings.refuse(WRONG_VALUE, f"`{key}` must be {what}", self.place(key), help_)
        return default


SECTIONS = ("rule", "condition", "action")
RULE_KEYS = RulePart.__struct_fields__
CONDITION_KEYS = ("expression", "script")
FIRST_PRIORITY, LAST_PRIORITY = 1, 1000
ID = re.compile(r"[a-z0-9-]+")
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}"
    rf"(?:-{_PART}(?:\.{_PART})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_HEADER = re.compile(r"^([ \t]*)\[[ \t]*rule[ \t]*\]", re.MULTILINE)


def read_rules(
    sources: Sequence[SourceFile],
) -> list[tuple[RuleSyntax | None, list[Diagnostic]]]:
    """Read the rule of each file and the findings. The rule is None if it cannot be read.

    All files finish a step before the next step starts. The readers of TOML, conditions and
    templates are so large that, run in turns, they would evict each other from the CPU caches.
    """
    readings = [_FileReader(_findings(source)) for source in sources]
    for step in (_FileReader.read, _FileReader.check_expression, _FileReader.check_templates):
        for reading in readings:
            step(reading)
    return [(reading.written, reading.findings.told()) for reading in readings]


def _findings(source: SourceFile) -> TomlFindings:
    """Read a document, with its findings. Invalid TOML gives an empty document."""
    try:
        return TomlFindings(read_toml(source))
    except LoadError as refused:
        findings = TomlFindings(TomlDocument(source, {}))
        findings.add(*refused.diagnostics)
        return findings


class _FileReader:
    """Reads one file, step by step."""

    def __init__(self, findings: TomlFindings) -> None:
        self.findings = findings
        self.document = findings.document
        self.expression: str | None = None
        self.written: RuleSyntax | None = None

    def read(self) -> None:
        """Read the rule. Later steps check its expression and its templates."""
        if not self.findings.found:
            self.written = self.rule()

    def rule(self) -> RuleSyntax | None:
        self.findings.close(SECTIONS)
        sections = {name: self.findings.section(name) for name in SECTIONS}
        self._check_sections(sections)
        rule, condition, action = sections.values()
        expression, script = self._condition(condition)
        read = read_action(action) if action else WriteLog()
        return self._build_syntax(rule, expression, script, read) if rule else None

    def _build_syntax(
        self, rule: Section, expression: str, script: str, action: Action
    ) -> RuleSyntax:
        rule.require("id")
        rule.require("trigger")
        line, column = self._header_place()
        rule_id = self._id(rule)
        return RuleSyntax(
            id=rule_id,
            name=self._name(rule, rule_id),
            description=rule.text("description"),
            version=self._version(rule),
            trigger=rule.choice("trigger", Hook, Hook.TURN_START),
            priority=self._priority(rule),
            enabled=self._enabled(rule),
            core=rule.boolean("core", default=False),
            plugin_id=self._plugin(rule),
            expression=expression,
            script=script,
            action=action,
            line=line,
            column=column,
        )

    def _check_sections(self, sections: dict[str, Section | None]) -> None:
        values = self.document.values
        if "rule" not in values:
            self._refuse_missing(codes.MISSING_KEY, "missing `[rule]`", "add it")
        if "condition" not in values:
            headline = "missing `[condition]`: a rule needs an `expression` or a `script`"
            self._refuse_missing(codes.CONDITION_COUNT, headline, "add one of them")
        if "action" not in values:
            self._refuse_missing(
                codes.MISSING_ACTION, "missing `[action]`", "add it, with a `type`"
            )
        for name, keys in (("rule", RULE_KEYS), ("condition", CONDITION_KEYS)):
            if sections[name]:
                self.findings.close(keys, name)

    def _refuse_missing(self, code: Code, headline: str, help_: str) -> None:
        # Find the place only when it is needed: that is slower than reading the text.
        begin = self.document.value_span("rule") if "rule" in self.document.values else Span(0, 0)
        self.findings.refuse(code, headline, begin, help_)

    def _id(self, rule: Section) -> str:
        text = rule.text("id", "-")
        if not ID.fullmatch(text):
            help_ = "use lower case letters, digits and `-`"
            headline = "`id` is not in kebab-case"
            self.findings.refuse(codes.BAD_RULE_ID, headline, rule.place("id"), help_)
        return text

    def _name(self, rule: Section, rule_id: str) -> str:
        name = rule.text("name", rule_id)
        if not name and "name" in rule.values:
            headline = "empty `name` is ignored"
            help_ = "write a name, or delete the key"
            self.findings.warn(codes.EMPTY_NAME, headline, rule.place("name"), help_)
        return name or rule_id

    def _version(self, rule: Section) -> str:
        version = rule.text("version", DEFAULT_VERSION)
        if not _VERSION.fullmatch(version):
            help_ = "write three numbers, such as `1.0.0`"
            headline = "`version` is not a semantic version"
            self.findings.refuse(codes.BAD_VERSION, headline, rule.place("version"), help_)
        return version

    def _priority(self, rule: Section) -> int:
        priority = rule.integer("priority", DEFAULT_PRIORITY)
        if not FIRST_PRIORITY <= priority <= LAST_PRIORITY:
            headline = f"`priority` is not between {FIRST_PRIORITY} and {LAST_PRIORITY}"
            help_ = "use a number in this range; the rule with the higher one is evaluated first"
            self.findings.refuse(codes.PRIORITY_RANGE, headline, rule.place("priority"), help_)
        return priority

    def _enabled(self, rule: Section) -> bool:
        enabled = rule.boolean("enabled", default=True)
        if enabled or rule.values.get("core") is not True:
            return enabled
        headline = "a core rule cannot be disabled: `enabled = false` is ignored"
        help_ = "delete `enabled = false` or `core = true`"
        self.findings.warn(codes.CORE_STAYS_ON, headline, rule.place("enabled"), help_)
        return True

    def _plugin(self, rule: Section) -> str:
        plugin = rule.text("plugin_id")
        if rule.values.get("plugin_id") == "":
            headline = "`plugin_id` must not be empty"
            help_ = "write the id of the plugin, or delete the key"
            self.findings.refuse(codes.WRONG_VALUE, headline, rule.place("plugin_id"), help_)
        return plugin

    def _condition(self, condition: Section | None) -> tuple[str, str]:
        if condition is None:
            return "", ""
        given = [key for key in CONDITION_KEYS if key in condition.values]
        if len(given) != 1:
            what = "both `expression` and `script`" if given else "no `expression` and no `script`"
            headline = f"`[condition]` has {what}"
            help_ = "keep one of them" if given else "add one of them"
            self.findings.refuse(codes.CONDITION_COUNT, headline, condition.span, help_)
        texts = condition.text("expression"), condition.text("script")
        if isinstance(condition.values.get("expression"), str):
            self.expression = texts[0]
        if condition.values.get("script") == "":
            headline, help_ = "`script` is empty", "write the path of a script, or an `expression`"
            self.findings.refuse(codes.BAD_SCRIPT, headline, condition.place("script"), help_)
        return texts

    def check_expression(self) -> None:
        if self.expression is None:
            return
        source = SourceFile(self.document.source.path, self.expression)
        try:
            found = check_condition(source, Span(0, len(source.text)))
        except LoadError as refused:
            found = refused.diagnostics
        self.findings.relocate(found, ("condition", "expression"))

    def check_templates(self) -> None:
        check_templates(self.findings)

    def _header_place(self) -> tuple[int, int]:
        """Return line and column of `[rule]`. Avoids finding all places of the text."""
        source = self.document.source
        found = _HEADER.search(source.text)
        if found is None or _may_be_in_a_string(source.text[: found.start()]):
            position = source.position(self.document.value_span("rule").start)
            return position.line, position.column
        return source.text.count("\n", 0, found.start()) + 1, len(found[1]) + 1


def _may_be_in_a_string(before: str) -> bool:
    return '"""' in before or "'''" in before
