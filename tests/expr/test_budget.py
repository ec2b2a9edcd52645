"""Every evaluation stays within its budget, in time and in memory, watched from outside.

Another seed in BYLAW_FUZZ_SEED gives other conditions.
"""

import os
import random
import time

import pytest
from evaluating import evaluated
from nasty import nasty

from bylaw.expr.template import TemplateNames, load_template
from bylaw.model.errors import RenderError
from bylaw.model.source import SourceFile, Span

SEED = os.environ.get("BYLAW_FUZZ_SEED", "1")
COUNT = 600
SECONDS_EACH = 20.0  # of this process; usual is less than 1, without a budget it takes minutes

LOOPS = "for i in context.history.messages for j in context.history.messages"
# Each once took too long or was close to it, overflowed, or shows a way to grow.
KNOWN = [
    f"[t in s for s in ['a' * 99999] for t in ['a' * 50000 + 'b' + 'a' * 49000] {LOOPS}]",
    f"[s.count(t) for s in ['a' * 99999] for t in ['a' * 49000 + 'b' + 'a' * 49000] {LOOPS}]",
    f"[s.index(t) for s in ['a' * 2499] for t in ['a' * 600 + 'b' + 'a' * 600] {LOOPS}]",
    f"[s.split(t) for s in ['a' * 2499] for t in ['a' * 600 + 'b' + 'a' * 600] {LOOPS}]",
    f"[s.replace(t, '') for s in ['a' * 2499] for t in ['a' * 600 + 'b' + 'a' * 600] {LOOPS}]",
    f"[s.endswith(t) for s in ['a' * 99999] for t in [('b' * 9,) * 9999] {LOOPS}]",
    f"[s.startswith(t) for s in ['a' * 99999] for t in [('a' * 99998 + 'b',) * 99] {LOOPS}]",
    f"[s.strip(t) for s in ['b' * 50000 + 'a' * 49999] for t in ['abcdefgh' * 100] {LOOPS}]",
    f"[s == t for s in ['a' * 99999] for t in ['a' * 99998 + 'b'] {LOOPS}]",
    f"[s < t for s in ['😀' * 99999] for t in ['😀' * 99998 + 'b'] {LOOPS}]",
    f"[s + 'x' for s in ['😀' * 99998] {LOOPS}]",
    f"[s.upper() for s in ['ﬃ' * 33000] {LOOPS}]",
    f"[s.split('a', 9000) for s in ['a' * 99999] {LOOPS}]",
    f"[s.replace('a', 'bbbbbbbbb') for s in ['a' * 9999] {LOOPS}]",
    f"[[0] * 10000 {LOOPS}]",
    f"[{{s + 'x': 1}} for s in ['a' * 99990] {LOOPS}]",
    f"[str(2 ** 4000) {LOOPS}]",
    f"[int('9' * 1200) {LOOPS}]",
    f"[str([2 ** 4000] * 80) {LOOPS}]",
    f"[(2 ** 2000) * (2 ** 2000) {LOOPS}]",
    f"[3 ** 2500 % 7 ** 1400 {LOOPS}]",
    f"[round(10 ** 1200, -400) {LOOPS}]",
    f"[float('1.' + '1' * 99990) {LOOPS}]",
    f"[sorted(s) for s in [['a' * 10000 + str(m) for m in context.history.messages]] {LOOPS}]",
    f"[max(s) for s in [['a' * 10000 + str(m) for m in context.history.messages]] {LOOPS}]",
    f"[[z for z in context.history.messages] {LOOPS}]",
    "{(i.content, j.content) " + LOOPS + "}",
    "[] * 10 ** 30",
    "[0] * -(10 ** 30)",
    "'' * 2 ** 4000",
    "'a'.split('b', 10 ** 30)",
    "'a'.replace('b', 'c', 10 ** 30)",
    "10 ** 400 * 1.5",
    "(-1) ** (2 ** 4000)",
]


def check(conditions, folder):
    lines = evaluated("conditions", conditions, folder)
    slow = [(spent, text) for (spent, _), text in zip(lines, conditions, strict=True)]

    assert [entry for entry in slow if entry[0] > SECONDS_EACH] == []
    return [ended for _, ended in lines]


def test_random_nasty_conditions(tmp_path):
    chance = random.Random(SEED)
    endings = check([nasty(chance) for _ in range(COUNT)], tmp_path)

    # Nasty enough: many load, and many of these have to be stopped.
    assert endings.count("guard-budget") > COUNT // 20
    assert endings.count("guard-too-large") > COUNT // 20
    assert endings.count("value") > COUNT // 20


def nasty_guard(chance):
    """Comparisons of long arguments and searches in a long text, joined many times."""
    longest = ["arg('l')", "arg('m')", "arg('k')", "arg('t')", "arg('l.5')", "2", "'x'", "[2]"]
    parts = []
    for _ in range(chance.choice([1, 3, 30, 200])):
        one, other = chance.choice(longest), chance.choice(longest)
        text = f"text_contains({chance.choice(['arg(_t_)', '_ba_'])}, _last_user_)"
        compared = f"{one} {chance.choice(['==', '!=', 'in', '<', '+'])} {other}"
        parts.append(chance.choice([compared, compared, text.replace("_t_", "'t'")]))
    joined = chance.choice([" or ", " and "]).join(f"({part}) == true" for part in parts)
    return joined.replace("_ba_", "'ba'").replace("_last_user_", "'last_user'")


def test_random_nasty_guards(tmp_path):
    chance = random.Random(SEED)
    guards = [nasty_guard(chance) for _ in range(COUNT // 4)]
    lines = evaluated("guards", guards, tmp_path)

    assert [spent for spent, _ in lines if spent > SECONDS_EACH] == []
    endings = [ended for _, ended in lines]
    assert {"guard-budget", "guard-type", "value"} <= set(endings)


def test_known_bombs(tmp_path):
    endings = check(KNOWN, tmp_path)

    assert {
        text for text, ended in zip(KNOWN, endings, strict=True) if ended == "expression-syntax"
    } == set()


@pytest.mark.parametrize("levels", [5, 10, 15])
def test_shared_values_are_weighed_before_they_are_looked_at(tmp_path, levels):
    value = "('k', 1)"
    for level in range(levels):
        value = f"[(a{level}, a{level}, a{level}, a{level}) for a{level} in [{value}]][0]"
    uses = ("{0}", "str({0})", "{0} == {0}", "{0} < {0}", "{{{0}}}", "{{{0}: 1}}", "{0} in [{0}]",
            "sorted([{0}, {0}])", "max({0}, {0})", "[{0}].count({0})", "f'''{{({0})}}'''")  # fmt: skip
    endings = check([use.format(value) for use in uses], tmp_path)

    assert set(endings) <= {
        "value",
        "guard-budget",
        "guard-too-large",
        "expression-too-deep",
    }


NEEDLE = "('a' * 50000 ~ 'b' ~ 'a' * 49000)"


@pytest.mark.parametrize(
    "part",
    [f"{NEEDLE} in s", f"s | replace({NEEDLE}, '') == ''", "s | title == ''", "s ~ s == ''"],
)
def test_a_loop_of_a_template_is_stopped_in_time(part):
    text = f"{{% for x in l %}}{{% if {part} %}}x{{% endif %}}{{% endfor %}}"
    names = TemplateNames({"s": None, "l": None})
    loaded = load_template(SourceFile("t", text), Span(0, len(text)), names)
    begin = time.process_time()
    with pytest.raises(RenderError):
        loaded.render({"s": "a" * 99_999, "l": [0] * 1_000})

    assert time.process_time() - begin < SECONDS_EACH
