"""A parser that has no verb yet, on a file: `load_file.py PARSER FILE`, exits like a verb."""

import resource
import sys

from bylaw.cli.terminal import read_source
from bylaw.model.diagnostic_text import render
from bylaw.model.errors import LoadError
from bylaw.model.source import Span
from bylaw.model.wire import EventError, decode_event

MEMORY = 512 * 1024 * 1024


def yaml(source):
    from bylaw.languages.yaml import load_yaml  # noqa: PLC0415 - each parser alone

    load_yaml(source).to_python()


def template(source):
    from bylaw.expr.template import TemplateNames, load_template  # noqa: PLC0415 - same

    names = TemplateNames({"text": None})
    load_template(source, Span(0, len(source.text)), names).render({"text": "x"})


def events(source):
    for line in source.text.split("\n"):
        decode_event(line.encode("utf-8"))


def page(source):
    from bylaw.report.suites.reader import read_page  # noqa: PLC0415 - same

    read_page(source)


PARSERS = {"yaml": yaml, "template": template, "events": events, "page": page}


def main():
    _, parser, path = sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        PARSERS[parser](read_source(path))
    except LoadError as refused:
        sys.stderr.write(render(refused.diagnostics))
        return 1
    except EventError as refused:
        sys.stderr.write(f"error[{refused.code}]: {refused.message!a}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
