"""Several orchestrators on one repository: each thing is done once, by one of them."""

from collections import Counter

from orchestrating import TELL, TELL_ERROR, all_of, give, message_id, rule, run, take

CHANGED = """\
  - rule_id: changed
    priority: 40
    trigger:
      kind: fs_event
      match: {paths: ["seen/**"], event_types: [created, modified, deleted, renamed]}
    guards: {}
    actions:
      - {type: write_bus, channel: output, template: "{{path}} was {{type}}"}
"""
SINGLE = "      approval: {mode: single, authorities: [human]}\n"
RULES = (
    rule("tell", 10, [TELL]),
    rule("locked", 20, [take("all"), TELL, give("all")], on_error=[TELL_ERROR, give("all")]),
    rule(
        "runs", 30, [take("run"), run("{{run}}"), TELL, give("run")],
        category="B", more=SINGLE, on_error=[TELL_ERROR],
    ),
    CHANGED,
)  # fmt: skip


def put_all(repository, told, locked, running):
    """Messages for all rules, mixed; those that run something are approved."""
    repository.rules(*RULES)
    ids = [message_id(f"{n:03}-run") for n in range(running)]
    repository.context(*(f"- DECISION: APPROVED {one} BY human" for one in ids))
    for n in range(told):
        repository.put(f"{n:03}-tell", "tell")
    for n in range(locked):
        repository.put(f"{n:03}-lock", "locked")
    for n, msg_id in enumerate(ids):
        repository.put(f"{n:03}-run", "runs", "B", run=[f"python -I -S note.py {msg_id}"])
    return ids


def test_two_of_them_do_500_messages_once_each(repository):
    ids = put_all(repository, told=330, locked=150, running=20)
    (repository.root / "seen").mkdir()
    with all_of(repository.start(), repository.start()) as both:
        both[0].until(lambda: repository.names("output"))
        for n in range(50):
            (repository.root / f"seen/{n}").write_text("x")
        both[0].until(repository.is_quiet)
        both[0].until(lambda: len(seen_changes(repository)) >= 50)
        assert [one.end() for one in both] == [0, 0]
        notes = [one.notes for one in both]
        lines = [line for one in both for line in one.lines]
        shares = [sum("msg_id" in line for line in one.lines) for one in both]

    evidence = repository.evidence()
    of_messages = Counter(one["msg_id"] for one in evidence if "msg_id" in one)
    assert notes == ["", ""]
    assert len(of_messages) == 500
    assert set(of_messages.values()) == {1}
    assert Counter(line["msg_id"] for line in lines if "msg_id" in line) == of_messages
    assert min(shares) > 0
    # Who came when the other one had the lock did not run, and says so.
    lost = {one["msg_id"] for one in evidence if "holds it" in one["text"]}
    assert repository.ran() == Counter(set(ids) - lost)
    assert repository.locks() == []
    states = repository.states()
    assert states == {k: v for k, v in {"done": 500 - len(lost), "failed": len(lost)}.items() if v}
    assert Counter(seen_changes(repository)) == Counter(f"seen/{n}" for n in range(50))
    assert repository.open_plans() == []


def seen_changes(repository):
    return [one["event"]["path"] for one in repository.evidence("output") if "event" in one]


def test_the_other_one_takes_over_what_a_dead_one_left(repository):
    put_all(repository, told=0, locked=0, running=0)
    msg_id = message_id("slow")
    repository.context(f"- DECISION: APPROVED {msg_id} BY human")
    with all_of(repository.start(), repository.start()) as both:
        both[0].until(lambda: all(one.notes == "" for one in both))
        repository.put("slow", "runs", "B", run=[f"python -I -S note.py {msg_id} 600"])
        both[0].until(repository.ran)
        (claim,) = repository.names("processing")
        dead, living = sorted(both, key=lambda one: f"_{one.process.pid}_" not in claim)
        dead.kill()
        living.until(lambda: repository.evidence_of(msg_id, "error"))
        living.until(repository.is_quiet)
        again = repository.put("next", "tell")
        living.until(lambda: repository.evidence_of(again, "output"))
        assert living.end() == 0
        (line,) = [line for line in living.lines if line["msg_id"] == msg_id]

    (evidence,) = repository.evidence_of(msg_id)
    assert "interrupted" in evidence["text"]
    assert line["status"] == "failed"
    assert line["evidence"]
    assert repository.ran() == {msg_id: 1}
    assert repository.locks() == []
    assert repository.states() == {"failed": 1, "done": 1}
