"""Every case of the pages of spec/, examples/ and docs/ is a test; `make spec-update` rewrites them."""

import os
from pathlib import Path

import pytest

import bylaw.cli.policies

# Whatever asks for the time must be there.
import bylaw.cli.policies_queue
import bylaw.hosts.bus.orchestrator  # noqa: F401
from bylaw.cli import main
from bylaw.model import diagnostic_text
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.report.suites.compare import update_page
from bylaw.report.suites.reader import read_page
from bylaw.report.suites.runner import UPDATE_VARIABLE, installed_decider, run_case
from page_install import use_machine
from page_process import run_process
from recording import BEGIN, recorder, stop_clock, use_utc

ROOT = Path(__file__).parent.parent
# What else lies below examples/ is what its pages are about.
SPEC = [*sorted((ROOT / "spec").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
# Pages for readers: a heading may have no example. Others are generated, or tested in tests/docs/.
OTHERS = ("README", "cli", "configuration", "first-hour", "hooks", "policies", "python")
DOCS = [page for folder in ("docs", "docs/hosts") for page in sorted((ROOT / folder).glob("*.md"))]
GUIDES = [page for page in DOCS if page.stem not in OTHERS]
PAGES = [*SPEC, *GUIDES]


def load(path):
    source = SourceFile.decode(path.relative_to(ROOT).as_posix(), path.read_bytes())
    return read_page(source, prose=path in GUIDES)


def described(source, outcome):
    return f"{source.path}:{source.position(outcome.place.start).line}: {outcome.failure}"


def cases():
    for path in PAGES:
        try:
            page = load(path)
        except LoadError:
            continue  # test_page_is_well_formed shows why
        for case in page.cases:
            ids = ",".join(case.requirements)
            name = f"{page.source.path}: {case.title}" + (f" [{ids}]" if ids else "")
            yield pytest.param(path, case.title, id=name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page_is_well_formed(path):
    try:
        load(path)
    except LoadError as refused:
        pytest.fail(diagnostic_text.render(refused.diagnostics), pytrace=False)


@pytest.mark.usefixtures("a_person")
@pytest.mark.parametrize(("path", "title"), list(cases()))
def test_case(path, title, tmp_path, tmp_path_factory, monkeypatch):
    page = load(path)  # anew: an update of an earlier case has moved this one
    case = next(case for case in page.cases if case.title == title)
    use_utc(monkeypatch)
    stop_clock(monkeypatch, BEGIN)
    use_machine(monkeypatch, tmp_path_factory.mktemp("home"))
    outcomes = run_case(
        page.source,
        case,
        tmp_path,
        beside=path.parent,
        decider=installed_decider(),
        main=main,
        record=recorder(monkeypatch),
        process=run_process,
    )
    wrong = [outcome for outcome in outcomes if outcome.failure]
    if os.environ.get(UPDATE_VARIABLE):
        path.write_text(update_page(page.source, outcomes), encoding="utf-8", newline="")
        wrong = [outcome for outcome in wrong if outcome.edit is None]
    if wrong:
        told = "\n\n".join(described(page.source, outcome) for outcome in wrong)
        pytest.fail(told, pytrace=False)
