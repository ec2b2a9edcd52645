"""Texts of actions: plain texts, or templates that read the context of the rule."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.expr.context_catalogue import SHAPES
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from bylaw.dialects.toml_rules.section import Findings
    from bylaw.expr.context_values import ContextValues
    from bylaw.expr.limits import Budget
    from bylaw.expr.template import Template
    from bylaw.model.rule import View

_NAMES = {
    "context": {
        section: None if shape.fields is None else dict.fromkeys(shape.fields)
        for section, shape in SHAPES.items()
    }
}
_NULL_BELOW = frozenset(
    ("context", name) for name, shape in SHAPES.items() if shape.missing_is_null
)
_TAG = re.compile(r"\{[{%#]")


def is_template(text: str) -> bool:
    """Return whether the text contains a tag of a template."""
    return _TAG.search(text) is not None


def check_templates(findings: Findings) -> None:
    """Add findings about the templates of a document."""
    for path, text in findings.templates:
        try:
            findings.relocate(_load(findings.document.source.path, text).warnings, path)
        except LoadError as refused:
            findings.relocate(refused.diagnostics, path)


def _load(path: str, text: str) -> Template:
    # Importing Jinja is slow, and many rules have no template.
    from bylaw.expr.template import TemplateNames, load_template  # noqa: PLC0415 - see above

    names = TemplateNames(_NAMES, _NULL_BELOW)
    return load_template(SourceFile(path, text), Span(0, len(text)), names)


class TextForm(Struct, frozen=True, dict=True):
    """A text that is rendered when its rule fires. It reads the state in `space`."""

    text: str
    space: str

    def make(self, view: View, budget: Budget | None = None) -> str:
        """Return the text for this event. Raises `RenderError` if the template fails."""
        if not is_template(self.text):
            return self.text
        return self._template.render({"context": self._context(view)}, budget)

    @cached_property
    def _template(self) -> Template:
        return _load("<template>", self.text)

    @cached_property
    def _values(self) -> ContextValues:
        from bylaw.expr.context_values import context_values  # noqa: PLC0415 - for templates only

        return context_values(self.space, self._template.reads)

    def _context(self, view: View) -> dict[str, Any]:
        """Return what the template reads, without null ids, so that none is printed (TR-066)."""
        context = self._values.read(view)
        for party in ("user", "project"):
            if party in context and context[party]["id"] is None:
                context[party] = {"settings": context[party]["settings"]}
        return context
