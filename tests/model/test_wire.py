"""Events as lines of JSON."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_model import events

from bylaw.model.codes import runtime as codes
from bylaw.model.event import EVENT_CLASSES, UNSTAMPED, File, Message, Prompt, ToolAfter, TurnStart
from bylaw.model.facts import Facts
from bylaw.model.values import MAX_DEPTH
from bylaw.model.vocabulary import CallStatus, Change, Kind, Role
from bylaw.model.wire import EventError, decode_event, encode_event


def refused(line):
    """Code and message of a line that must not be an event."""
    with pytest.raises(EventError) as caught:
        decode_event(line if isinstance(line, bytes) else line.encode())
    return caught.value.code, caught.value.message


def test_every_kind_has_a_class_with_its_tag():
    assert list(EVENT_CLASSES) == [kind.value for kind in Kind]
    assert all(cls.__struct_config__.tag == kind for kind, cls in EVENT_CLASSES.items())


def test_a_line_becomes_an_event():
    event = decode_event(
        b'{"kind": "tool.after", "tool": "Bash", "also": ["shell"], "args": {"command": "ls"},'
        b' "call": "c1", "status": "ok", "result": "a.txt", "ms": 12, "at": 0}'
    )

    assert (
        ToolAfter(
            tool="Bash",
            also=("shell",),
            args={"command": "ls"},
            call="c1",
            status=CallStatus.OK,
            result="a.txt",
            ms=12,
            at=0,
        )
        == event
    )
    assert event.kind is Kind.TOOL_AFTER


def test_what_is_absent_has_a_default():
    event = decode_event(b'{"kind": "turn.start"}')

    assert event == TurnStart()
    assert (event.session, event.agent, event.cause, event.round) == ("default", "", (), 1)
    assert event.tokens is msgspec.UNSET


def test_a_time_of_zero_is_not_an_absent_time():
    """CM-100 speaks of a firing at 0."""
    assert decode_event(b'{"kind": "turn.start", "at": 0}').at == 0
    assert decode_event(b'{"kind": "turn.start"}').at == UNSTAMPED


def test_defaults_are_not_written():
    assert encode_event(TurnStart()) == b'{"kind":"turn.start"}'
    assert encode_event(File(change=Change.DELETED, path="a")) == (
        b'{"kind":"file","change":"deleted","path":"a"}'
    )


def test_keys_of_arguments_keep_their_order():
    line = b'{"kind":"tool.before","tool":"t","args":{"b":1,"a":{"z":1,"y":2}}}'

    assert encode_event(decode_event(line)) == line


def test_equal_events_have_equal_bytes():
    copied = Message(session=b"default".decode(), role=Role.USER, text="x")
    explicit = decode_event(
        b'{"kind":"message","session":"default","agent":"","round":1,"facts":{},'
        b'"role":"user","text":"x"}'
    )

    assert explicit == copied
    assert (
        encode_event(explicit)
        == encode_event(copied)
        == (b'{"kind":"message","role":"user","text":"x"}')
    )
    assert encode_event(TurnStart(facts=Facts())) == encode_event(TurnStart())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"kind": "tool.before", "tool": 5}', "`tool` must be a string, not a whole number"),
        ('{"kind": "prompt", "text": null}', "`text` must be a string, not null"),
        (
            '{"kind": "prompt", "at": 1.5}',
            "`at` must be a whole number, not a number with a decimal point",
        ),
        (
            '{"kind": "tool.before", "tool": "t", "args": [1]}',
            "`args` must be an object, not a list",
        ),
        ('{"kind": "tool.before", "tool": "t", "also": [1]}', "`also[0]` must be a string"),
        ('{"kind": "prompt", "seq": -1}', "`seq` must be at least 0"),
        ('{"kind": "prompt", "seq": 9007199254740992}', "`seq` must be at most 9007199254740991"),
        ('{"kind": "prompt", "round": 3}', "`round` must be at most 2"),
        ('{"kind": "file", "path": "a"}', "the event needs the field `change`"),
        ('{"kind": "prompt", "txt": "x"}', "the event has no field `txt`: did you mean `text`?"),
        (
            '{"kind": "tool.after", "tool": "t", "status": "okay"}',
            "`status` cannot be `okay`: did you mean `ok`?",
        ),
        (
            '{"kind": "message", "role": "none"}',
            "`role` cannot be `none`: known here: `assistant`, `developer`, `system`, `tool`,",
        ),
    ],
)
def test_a_wrong_field_is_named_in_plain_words(line, message):
    code, found = refused(line)

    assert code == "event-field"
    assert found.startswith(message)


def test_a_mistyped_kind_is_corrected():
    assert refused('{"kind": "tool_before", "tool": "t"}') == (
        "event-kind",
        "`tool_before` is not a kind of event: did you mean `tool.before`?",
    )


@pytest.mark.parametrize("line", ["[]", "5", "null", '"prompt"', "{}", '{"kind": 1}'])
def test_what_has_no_kind_is_no_event(line):
    assert refused(line)[0] == "event-kind"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "it ends too early; see column 1"),
        (b'{"kind": "prompt"', "it ends too early; see column 17"),
        (b"nope", "a value is needed here; see column 1"),
        (b'{"kind": "prompt", "text": "\x00"}', "must be escaped; see column 29"),
        (b'{"kind": "prompt"}\x00', "nothing may follow the value; see column 19"),
        ('{"kind": "prompt", "text": "ä"} x'.encode(), "see column 33"),
        (b'\xef\xbb\xbf{"kind": "prompt"}', "see column 1"),
        (b'{"kind": "prompt", "text": "\xff"}', "0xff is not UTF-8; see column 29"),
        (b'{"kind": "prompt", "text": "\xed\xa0\x80"}', "not UTF-8; see column 29"),
        (
            b'{"kind": "prompt", "text": "\\ud800"}',
            "lone surrogate (half of a character); see column 29",
        ),
        (b'{"kind": "prompt", "text": "\\ud800 and more"}', "half of a character"),
        (b'{"kind": "custom", "type": "t", "payload": {"a": NaN}}', "`NaN` is not a JSON value"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(line, message):
    code, found = refused(line)

    assert code == "event-syntax"
    assert found.startswith("the line is not JSON: ")
    assert message in found


def test_a_key_that_is_there_twice_is_refused_at_every_depth():
    """Two readers could take different ones; only one of them would have been judged."""
    twice = ("event-duplicate-key", "duplicate key `tool`")

    assert refused('{"kind": "tool.before", "tool": "ls", "tool": "rm"}') == twice
    assert refused(
        '{"kind": "tool.before", "tool": "t", "args": {"a": [{"tool":1,"tool":1}]}}'
    ) == (twice)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("levels", [MAX_DEPTH, 5_000, 1_000_000])
def test_nesting_is_bounded(opening, levels):
    line = '{"kind": "bus", "message": ' + opening * levels

    assert refused(line) == ("event-too-deep", "lists and objects are nested more than 100 deep")


def test_brackets_inside_a_text_are_no_nesting():
    text = '[{"\\"' * 1000

    assert decode_event(encode_event(Prompt(text=text))) == Prompt(text=text)


def test_the_deepest_event_can_be_written_and_read_again():
    line = b'{"kind":"bus","message":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"

    assert encode_event(decode_event(line)) == line


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999"])
def test_numbers_out_of_all_bounds_are_refused(number):
    assert refused(f'{{"kind": "bus", "message": {number}}}')[0] == "event-field"
    assert refused(f'{{"kind": "prompt", "at": {number}}}')[0] == "event-field"


def test_long_foreign_text_is_cut_in_messages():
    _, message = refused('{"kind": "' + "x" * 5_000_000 + '"}')

    assert len(message) < 500


def test_a_large_event_is_fine():
    event = Prompt(text="ä" * 5_000_000)

    assert decode_event(encode_event(event)) == event


def test_every_example_of_a_code_provokes_it():
    every = [code for code in vars(codes).values() if isinstance(code, codes.Code)]
    of_a_line = [code for code in every if code.example.kind == "event"]

    assert of_a_line
    for code in of_a_line:
        assert refused(code.example.text)[0] == code.name


@settings(deadline=None)
@given(events)
def test_round_trip(event):
    line = encode_event(event)

    assert decode_event(line) == event
    assert encode_event(decode_event(line)) == line
    assert b"\n" not in line


def message_about(line):
    """What is said about a line; nothing when it is an event."""
    try:
        decode_event(line)
    except EventError as error:
        return error.message
    return None


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_every_line_is_an_event_or_gives_a_message(line):
    shapes = (b"%s", b'{"kind":"prompt","text":%s}', b'{"kind":"%s"}', b'{"kind":"file","%s":1}')
    messages = [message_about(shape % line) for shape in shapes]

    assert all(m is None or 0 < len(m) < 500 for m in messages)
