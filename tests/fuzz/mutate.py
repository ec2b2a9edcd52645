"""An input and a source of chance → another input that is like it, but broken somewhere."""

import re

MAX_BYTES = 20_000
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"{{", b"}}"), (b"-", b""), (b"not ", b""))
_COUNTS = (2, 3, 10, 60, 300)


_TOKEN = re.compile(
    rb"""(?P<name>[A-Za-z_.]+) | (?P<number>\d[\d.]*) | (?P<text>"[^"\n]*"|'[^'\n]*')
       | (?P<blank>\s+) | (?P<sign>[-+*/%<>=!|~]+) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def mutated(chance, data, corpus, words, frames=(b"%",)):
    """Another input: half of them are well formed more often than not, the others broken anyhow."""
    mutations = chance.choice((_GENTLE, _MUTATIONS))
    if chance.random() < 0.3:
        data = framed(chance, data, corpus, chance.choice(frames))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        data = chance.choice(mutations)(chance, data, corpus, words)
    return data[:MAX_BYTES]


def framed(chance, data, corpus, frame):
    """A larger input made of whole ones: each `%` of the frame stands for one."""
    first, *rest = frame.split(b"%")
    return first + b"".join(
        (chance.choice(corpus) if number else data) + after for number, after in enumerate(rest)
    )


def _exchange_token(chance, data, corpus, _words):
    """A token by one of the same class, so that the form stays what it was."""
    old = _some_token(chance, data)
    new = _some_token(chance, chance.choice(corpus), old and old.lastgroup)
    return data if not old or not new else data[: old.start()] + new[0] + data[old.end() :]


def _drop_token(chance, data, _corpus, _words):
    old = _some_token(chance, data)
    return data if not old else data[: old.start()] + data[old.end() :]


def _double_token(chance, data, _corpus, _words):
    old = _some_token(chance, data)
    return data if not old else data[: old.end()] + b" " + data[old.start() :]


def _some_token(chance, data, kind=None):
    """A token at a random place, of a kind if one is asked for."""
    at = chance.randint(0, max(len(data) - 200, 0))
    found = _TOKEN.finditer(data[:MAX_BYTES], at, at + 400)
    chosen = [match for match in found if kind in {None, match.lastgroup}]
    return chance.choice(chosen) if chosen else None


def _piece(chance, data):
    """Mostly a short piece, sometimes any."""
    start = chance.randint(0, len(data))
    longest = len(data) - start
    return start, start + chance.randint(0, longest if chance.random() < 0.2 else min(longest, 8))


def _insert_word(chance, data, _corpus, words):
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(words) + data[at:]


def _replace_by_word(chance, data, _corpus, words):
    start, end = _piece(chance, data)
    return data[:start] + chance.choice(words) + data[end:]


def _delete(chance, data, _corpus, _words):
    start, end = _piece(chance, data)
    return data[:start] + data[end:]


def _repeat(chance, data, _corpus, _words):
    start, end = _piece(chance, data)
    return data[:start] + data[start:end] * chance.choice(_COUNTS) + data[end:]


def _wrap(chance, data, _corpus, _words):
    start, end = _piece(chance, data)
    before, after = chance.choice(_BRACKETS)
    times = chance.choice((1, 1, *_COUNTS))
    return data[:start] + before * times + data[start:end] + after * times + data[end:]


def _splice(chance, data, corpus, _words):
    other = chance.choice(corpus)
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _borrow(chance, data, corpus, _words):
    other = chance.choice(corpus)
    start, end = _piece(chance, other)
    at = chance.randint(0, len(data))
    return data[:at] + other[start:end] + data[at:]


def _swap(chance, data, _corpus, _words):
    cuts = sorted(chance.randint(0, len(data)) for _ in range(3))
    first, second, third = cuts
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def _change_byte(chance, data, _corpus, _words):
    at = chance.randint(0, len(data))
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


_GENTLE = (_exchange_token, _exchange_token, _exchange_token, _drop_token, _double_token)
_MUTATIONS = (
    _exchange_token, _insert_word, _insert_word, _replace_by_word, _replace_by_word, _delete, _repeat,
    _wrap, _splice, _borrow, _swap, _change_byte,
)  # fmt: skip
