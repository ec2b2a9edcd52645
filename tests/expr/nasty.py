"""Random conditions that try to cost more than they may: growth, sharing, searching, nesting."""

import re

MESSAGES, TOOLS = "context.history.messages", "context.history.tools"
# An expression of each kind is built from others: `T` a text, `N` a number, `L` a list, `K` what
# can be a key, `V` anything, `x` a fresh name of a loop.
FORMS = {
    "T": (
        "'a'", "'ab'", "''", "'é€'", "'ﬃ'", "context.state.text", "'a' * 99999", "('a' * N)",
        "(T + T)", "(T * N)", "str(V)", "str(N)", 'f"""{(V)}{(V)}"""', 'f"""{(T)}{(T)}{(T)}"""', "T.upper()",
        "T.lower()", "T.replace(T, T)", "T.replace('', T)", "T.replace('a', 'aa')", "T.join(L)",
        "T.join([T for x in L])", "T[N:]", "T[::-1]", "T.strip(T)", "('a' * 49999 + 'b' + 'a' * 49999)",
        "(T if V else T)", "''.join(sorted(T))",
    ),
    "N": (
        "2", "7", "99", "9999", "100000", "-1", "10 ** 30", "2 ** 4095", "(N * N)", "(N ** N)",
        "(N + N)", "(N - N)", "(N // N)", "(N % N)", "(N / N)", "len(L)", "len(T)", "sum([N for x in L])",
        "int(T)", "int(str(N))", "float(T)", "round(N, N)", "abs(N)", "T.count(T)", "T.index(T)",
        "L.count(V)", "L.index(V)", "max([N for x in L])", "1e308", "sum(L)",
    ),
    "L": (
        MESSAGES, TOOLS, "[1, 2]", "[[0] * 9999][0]", "([0] * N)", "(L + L)", "(L * N)", "[V, V]",
        "[x for x in L]", "[V for x in L]", "[V for x in L for y in L]", "[[x, x] for x in L]",
        "[T for x in L]", "[x for x in L if V]", "sorted(L)", "sorted([V, V])", "T.split(T)", "T.split()",
        "[[x, y] for x in L for y in L]", "L[::-1]", "L[N:]", "[L for x in L]", "context.state.b",
        "sorted({K for x in L})", "[K in {K} for x in L]", "context.state.items()", "sorted(L, reverse=True)",
        "[V == V for x in L]", "[V < V for x in L]", "[T in T for x in L]", "[T.startswith(T) for x in L]",
        "[T.endswith(('b',) * N) for x in L]", "[N for x in L]",
    ),
    "K": (
        "1", "'k'", "T", "N", "(K, K)", "(K, (K, K))", "((1,) * N)", "[(x, x) for x in [K]][0]",
        "[(x, x, x, x) for x in [K]][0]", "(K if V else K)",
    ),
    "V": (
        "T", "N", "L", "K", "{K: V}", "{x: V for x in L}", "{K: V for x in L}", "{K for x in L}", "{K, K}",
        "(L == L)", "(L < L)", "(K == K)", "(V in L)", "(T in T)", "({K} <= {K})", "({K} - {K})",
        "{K: V}.get(K)", "{K: V}[K]", "min(L)", "max(V, V)", "any(L)", "all([V for x in L])",
        "(V and V)", "(V or V)", "(not V)", "[[x, x] for x in [V]][0]", "[{'a': x, 'b': x} for x in [V]][0]",
        "({'a': V} == {'a': V})", "str(V)", "len(V)", "bool(V)",
    ),
}  # fmt: skip
_SLOT = re.compile(r"(?<![\w'])[TNLKVxy](?![\w'])")
# Large ones, so that what is built of a few of them is larger than allowed.
LEAVES = {
    "T": ("'a'", "('a' * 99999)", "('ab' * 49999)", "context.state.text", "('😀' * 99999)"),
    "N": ("2", "-1", "9999", "100000", "2 ** 4095", "10 ** 30", "0.5"),
    "L": (MESSAGES, TOOLS, "[1, 2]", "([0] * 9999)", "(['a' * 999] * 99)"),
    "K": ("1", "'k'", "('k',)", "((1, 'a') * 999)", "('a' * 99999)"),
    "V": ("1", "('v' * 99999)", MESSAGES, "([0] * 9999)"),
}
MAX_CHARS = 4_000


def nasty(chance):
    """One condition: a random tree, or a bomb of a known make around one."""
    make = chance.choice((tree, tree, tree, tree, doubling, nested_loops))
    return make(chance)


def tree(chance):
    """Forms in forms, a few levels deep."""
    return Growth(chance).grow("V", chance.choice((2, 3, 4, 5)))


def doubling(chance):
    """A value that holds the one before it several times: small in memory, huge to look at."""
    value = Growth(chance).grow(chance.choice("KTN"), 1)
    copies = chance.choice((2, 3, 10))
    opening, closing = chance.choice((("[", "]"), ("(", ")"), ("{'a': [", "]}")))
    for level in range(chance.randint(3, 20)):
        name = f"d{level}"
        value = f"[{opening}{', '.join([name] * copies)}{closing} for {name} in [{value}]][0]"
    use = ("{0}", "str({0})", "{0} == {0}", "{0} < {0}", "{{{0}}}", "sorted([{0}, {0}])", "f'{{({0})}}'",
           "[{0} == 1 for x in context.history.messages]", "{{{0}: 1}}", "max({0}, {0})")  # fmt: skip
    return chance.choice(use).format(value)


def nested_loops(chance):
    """A cost that is multiplied by every loop around it."""
    growth = Growth(chance)
    loops = chance.randint(1, 8)
    body = growth.grow("V", chance.choice((1, 2)))
    setup = f" for s in [{growth.grow('T', 1)}] for t in [{growth.grow('T', 1)}]"
    uses = ("s in t", "s == t", "s < t", "s + t", "s.replace(t, s)", "s.split(t)", "s.count(t)", "[s, t]",
            "s.strip(t)", "{s + t: t}", "{s: t}", "f'{s}{t}'", "str([s, t])", "s.startswith(t)", body)  # fmt: skip
    around = "".join(f" for l{n} in {growth.grow('L', 0)}" for n in range(loops))
    return f"[{chance.choice(uses)}{setup}{around}]"


class Growth:
    """Grows an expression; loop names are fresh, so that none hides another."""

    def __init__(self, chance):
        self.chance = chance
        self.made = 0
        self.size = 0

    def grow(self, kind, depth):
        """An expression of a kind, at most so many forms deep."""
        crowded = self.size > MAX_CHARS
        form = self.chance.choice((LEAVES if depth <= 0 or crowded else FORMS)[kind])
        self.made += 1
        self.size += len(form)
        names = {"x": f"x{self.made}", "y": f"y{self.made}"}
        return _SLOT.sub(lambda slot: names.get(slot[0]) or self.grow(slot[0], depth - 1), form)
