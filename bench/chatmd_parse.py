"""How long a ChatMD transcript takes to parse: beside `html.parser`, and how that grows.

The standard reader of markup only walks along the text here: it keeps no tree, no places and no
text, and takes every tag for a tag.
"""

from __future__ import annotations

import random
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from table import Lap, Row, race

from bylaw.languages.chatmd.messages import block, write
from bylaw.languages.chatmd.parser import parse
from bylaw.model.diagnostic import has_errors
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

AT_MOST = 2
AT_MOST_GROWTH = 1.5
AT_MOST_HOSTILE_GROWTH = 3  # a reader that goes over the text again and again has 8
MEGABYTE = 1_000_000
ROUNDS = 5
LINES = (
    "def read(path):",
    "    if a<b and c > d:",
    "        return <value>  # as it stood",
    "Plain words go on and on, as they do in the transcript of a chat.",
    "  for (int i = 0; i < n; i++) { x[i] = y[i] | z[i]; }",
    '{"key": "value", "n": [1, 2, 3]}',
    "",
)
# Texts that begin something again and again and never end it.
HOSTILE = {
    "less-than signs": ("<user>", "<"),
    "open quotes": ("<user>", '<doc a="'),
    "tags inside a broken tag": ("<user><doc", " a=\"<doc b='x' \""),
    "`RAW|`": ("<user>", "RAW|"),
    "comments": ("<user>", "<!--"),
    "messages": ("", "<user>"),
    "bodies without an end": ("", "<rules><insert></rules>"),
    "calls that are no JSON": ("<rules>", '<call>["</call>"'),
}


def run() -> list[Row]:
    """Three kinds of transcripts, then 20 MB, then texts that mean harm."""
    return [
        _against_html("a session with tools", transcript(MEGABYTE // 2)),
        _against_html("words only", _filled("", _message(100))),
        _against_html("very short messages", _filled("", _message(0))),
        _growth("20 MB against 1 MB", transcript, (1, 20), AT_MOST_GROWTH),
        *(
            _growth(f"2 MB against 0.25: {name}", _hostile(name), (0.25, 2), AT_MOST_HOSTILE_GROWTH)
            for name in HOSTILE
        ),
    ]


def transcript(size: int) -> str:
    """Turns with thoughts, a call, a long result and an answer, as ochat and Bylaw write them."""
    chance, parts, length = random.Random(size), [], 0
    while length < size:
        parts.append(_turn(chance, len(parts)))
        length += len(parts[-1])
    return "".join(parts)


def _turn(chance: random.Random, number: int) -> str:
    call, thought = f"call_{number}", "\n\t\t".join(chance.choices(LINES, k=4))
    arguments = f'{{"path": "src/{number}.py"}}'
    return (
        block("user", {}, "Please look at the file, and say what it does.")
        + f'\n<reasoning id="rs_{number}">\n\t<summary>\n\t\t{thought}\n\t</summary>'
        + "\n</reasoning>\n"
        + f'\n<tool_call tool_call_id="{call}" function_name="read_file" id="fc_{number}">\n\tRAW|'
        + f"\n\t\t{arguments}\n\t|RAW\n</tool_call>\n"
        + block("tool_response", {"tool_call_id": call}, "\n".join(chance.choices(LINES, k=120)))
        + block("assistant", {"id": f"msg_{number}"}, "\n".join(chance.choices(LINES, k=8)))
    )


def _message(lines: int) -> str:
    return f"<user>hello{lines * f' {LINES[3]}'}</user>\n"


def _filled(begin: str, piece: str, size: int = MEGABYTE) -> str:
    return begin + piece * (size // len(piece))


def _hostile(name: str) -> Callable[[int], str]:
    return lambda size: _filled(*HOSTILE[name], size)


def _against_html(name: str, text: str) -> Row:
    source = SourceFile("chat.chatmd", text)
    document, findings = parse(source)
    assert not has_errors(findings)
    assert write(document) == text
    laps = {
        "ours": Lap(parse, [source]),
        "theirs": Lap(lambda text: HTMLParser().feed(text), [text]),
    }
    best = race(laps, rounds=15)
    amount = f"{len(document.elements):,} elements in {len(text) / 1000:,.0f} kB"
    inside = f"{amount}; against html.parser on the same text"
    return Row(name, inside, best["ours"], best["theirs"], AT_MOST, faster=False)


def _growth(
    name: str, text_of: Callable[[int], str], megabytes: tuple[float, float], budget: float
) -> Row:
    texts = [text_of(int(one * MEGABYTE)) for one in megabytes]
    sources = dict(zip(("small", "large"), (SourceFile("c", one) for one in texts), strict=True))
    best = race({side: Lap(parse, [one]) for side, one in sources.items()}, rounds=ROUNDS)
    each = {side: best[side] / len(one.text) * MEGABYTE for side, one in sources.items()}
    inside = "time of a million characters in the long text, against the short one"
    return Row(name, inside, each["large"], each["small"], budget, faster=False)
