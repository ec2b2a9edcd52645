"""What holds for every diagnostic, whatever text it is about."""

import json
import unicodedata

from bylaw.model import diagnostic_text
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError
from bylaw.report.printers import formats
from bylaw.report.printers import formats as json_printer
from bylaw.report.printers.formats import all_codes

# Line breaks are the printers' own; everything else that moves a cursor is made visible.
MOVES_A_CURSOR = {"Cc", "Cs", "Zl", "Zp"}


RENDERERS = {
    "text": diagnostic_text.render,
    "json": json_printer.render_json,
    "github": formats.render_github,
    "sarif": formats.render_sarif,
}


def refused(load, *args):
    """What a loader made of it, or None if it refused it in good order."""
    try:
        return load(*args)
    except LoadError as refusal:
        check_diagnostics(refusal.diagnostics)
        return None
    except EncodingError as wrong:
        check_span(wrong.span, wrong.source)
        return None


def check_diagnostics(diagnostics):
    """Spans lie inside the source, codes are known, and every printer can print them."""
    assert diagnostics, "a refusal says why"
    for diagnostic in diagnostics:
        assert diagnostic.code in all_codes(), diagnostic.code
        assert diagnostic.headline
        check_span(diagnostic.span, diagnostic.source)
        for label in diagnostic.labels:
            check_span(label.span, diagnostic.source)
        if diagnostic.fix is not None:
            check_span(diagnostic.fix.span, diagnostic.source)
    check_printed(diagnostics)


def check_span(span, source):
    """A span is a piece of the source."""
    assert 0 <= span.start <= span.end <= len(source.text), (span, len(source.text))


def check_printed(diagnostics):
    """Each printer writes text that a terminal and a JSON reader take without harm."""
    for name, render in RENDERERS.items():
        printed = render(diagnostics)
        printed.encode("utf-8")
        if name in {"json", "sarif"}:
            json.loads(printed)
        else:
            check_calm(printed)


def check_calm(printed):
    """Nothing in the text moves a cursor but its line breaks."""
    moving = {c for c in printed if unicodedata.category(c) in MOVES_A_CURSOR} - {"\n"}
    assert not moving, moving
