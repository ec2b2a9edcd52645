"""Patterns of `redact`: what is accepted stays quick on any text, what could hang is refused."""

import time

import pytest

from bylaw.runtime.setting_types import UnboundedError, compile_bounded

ACCEPTED = [
    r"sk-[A-Za-z0-9]+",
    r"(?i)bearer\s{1,5}\S+",
    r"[\w.+-]{1,64}@[\w-]{1,255}\.[\w.]+",
    r"eyJ[\w.-]+",
    r"-----BEGIN [A-Z ]{1,40}PRIVATE KEY-----[\s\S]+",
    r"(?<=password=)\S+",
    r"AKIA[0-9A-Z]{16}",
    r"(?:foo|bar)=\w+|token \S+",
    r'(?i:secret|token)"?\s{0,3}[:=]\s{0,3}"?[^\s"]{8,}',
    r"\b\d{4}(?:[ -]?\d{4}){3}\b",
    r"x(?:-\w+)?",
    r"(ab?c){1,3}",
    r"(?s)<key>.{0,200}</key>",
    r"(?x) sk - \w+  # spaces do not count",
]
UNBOUNDED = [
    r"(a+)+b",
    r"(a|a)+b",
    r"(?:ab)+",
    r"\w+@x",
    r"\w+$",
    r"\w+\b",
    r"a.*b",
    r"a[^b]*b",
    r"(?=a+b)a",
    r"(?<!a)(?:a+){2}",
    r"(\w)\1",
    r"(?P<q>['\"])x(?P=q)",
    r"(x)?(?(1)y|z)",
    r"(?>a)b",
    r"a++",
    r"a{1,50}a{1,50}a{1,50}b",
    r"\w{1,50}\w{1,50}@",
    r"(?i)k{1,99}\u212a{1,99}x",  # of one letter, whatever it looks like
    r"(?:a|b|ab){1,20}c",
    r"(?:){0,4000000000}a",
    r"(?:a?){0,60000}b",
    r"(?s).{1,3000}x",
]
UNUSABLE = ["", "a*", "^", "a|", r"(?=a)", "(", "[[a]b]", r"(?a)\w", "(?a:x)", "a" * 501, "(" * 60 + "a" + ")" * 60, "a{99999999999}"]  # fmt: skip
# Each is what one of the patterns above begins with, again and again.
HOSTILE = [
    piece * (100_000 // len(piece))
    for piece in ("a", "a1", "a@", "a.a@a", "password=", "token: ", "1234 ", " \t", "AKIA0", "<key>")
] + ["-----BEGIN " + "A PRIVATE " * 10_000]  # fmt: skip


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_what_is_accepted_is_quick_on_hostile_texts(pattern):
    compiled = compile_bounded(pattern)
    begin = time.process_time()
    for text in HOSTILE:
        compiled.sub("", text)

    # Even the most that is allowed for each character is less; an open one would take minutes.
    assert time.process_time() - begin < 30


@pytest.mark.parametrize("pattern", UNBOUNDED)
def test_what_a_text_can_keep_busy_is_refused(pattern):
    with pytest.raises(UnboundedError):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", UNUSABLE)
def test_what_is_no_pattern_or_matches_everywhere(pattern):
    with pytest.raises(ValueError) as caught:
        compile_bounded(pattern)

    assert not isinstance(caught.value, UnboundedError)


def test_a_repeat_whose_end_is_certain_does_not_multiply():
    assert compile_bounded(r"\w{1,400}@\d{1,400}x")
    with pytest.raises(UnboundedError):
        compile_bounded(r"\w{1,400}a\d{1,400}x")
    with pytest.raises(UnboundedError):
        compile_bounded(r"\w{1,400}\B@\d{1,400}x")  # more than one look is needed
