"""An input and a source of chance → another input that is like it, but broken somewhere."""

MAX_BYTES = 20_000
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"{{", b"}}"), (b"-", b""), (b"not ", b""))
_COUNTS = (2, 3, 10, 60, 300)


def mutated(chance, data, corpus, words):
    """One to a few changes, each of a kind that tends to reach another corner of a parser."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        data = chance.choice(_MUTATIONS)(chance, data, corpus, words)
    return data[:MAX_BYTES]


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


_MUTATIONS = (
    _insert_word, _insert_word, _replace_by_word, _replace_by_word, _delete, _repeat,
    _wrap, _splice, _borrow, _swap, _change_byte,
)  # fmt: skip
