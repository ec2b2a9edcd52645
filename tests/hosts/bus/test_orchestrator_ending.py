"""How an orchestrator ends: in good order, whatever it was doing."""

import signal

import pytest
from orchestrating import TELL, TELL_ERROR, processes_with, rule, run, take

CODES = [(signal.SIGTERM, 0), (signal.SIGINT, 130)]


@pytest.mark.parametrize(
    ("words", "number", "code"),
    # A single pass says that something failed.
    [
        *(((), *one) for one in CODES),
        (["--once"], signal.SIGTERM, 1),
        (["--once"], signal.SIGINT, 130),
    ],
)
def test_a_command_that_runs_is_ended_first(repository, words, number, code):
    mark = f"family-{repository.root.parent.name}"
    repository.rules(
        rule(
            "sleeps", 10, [take("bed"), run(f"python -I -S family.py {mark}", 600), TELL],
            on_error=[TELL_ERROR],
        ),
        rule("tell", 20, [TELL]),
    )  # fmt: skip
    msg_id = repository.put("a", "sleeps")
    repository.put("b", "tell")
    with repository.start(*words) as running:
        running.until(lambda: repository.family() == 3)
        assert running.end(number) == code
        assert [(one["msg_id"], one["status"]) for one in running.lines] == [(msg_id, "failed")]
        assert running.notes == ""
    (evidence,) = repository.evidence()
    assert (evidence["msg_id"], evidence["channel"]) == (msg_id, "error")
    assert "cancelled" in evidence["text"]
    assert processes_with(mark) == []
    assert repository.locks() == []
    assert repository.names("input") == ["b.json"]
    assert repository.names("processing") == []
    assert repository.states() == {"failed": 1}


@pytest.mark.parametrize(("number", "code"), CODES)
def test_who_waits_ends_at_once(repository, number, code):
    repository.rules(rule("tell", 20, [TELL]))
    repository.put("a", "tell")
    with repository.start() as running:
        running.until(lambda: repository.is_quiet() and running.lines)
        assert running.end(number) == code
        assert running.notes == ""
