"""Random trees of the two grammars, for property tests."""

from hypothesis import strategies as st

from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Choice,
    Clause,
    Compare,
    Comprehension,
    Const,
    Index,
    Items,
    Keyword,
    Logic,
    Method,
    Name,
    Pairs,
    Slice,
    Text,
    Unary,
)

NAMES = st.sampled_from(["a", "b", "turn_index", "last_role"])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(0, 10**20) | st.floats(0, 1e300, allow_nan=False, allow_infinity=False)
CONSTANTS = st.builds(Const, st.booleans() | NUMBERS | WORDS)
# Python writes a value inside an f-string without backslashes and quotes before 3.12.
PLAIN_CONSTANTS = st.builds(Const, st.integers(0, 99) | st.sampled_from(["x", "y z"]))


def logic(part):
    # Three operands of one kind are one node; two of the same operator nest only by parentheses.
    return st.builds(
        Logic, st.sampled_from(["and", "or"]), st.lists(part, min_size=2, max_size=3).map(tuple)
    )


def compare(part, ops, most=1):
    def build(first, pairs):
        return Compare(first, tuple(op for op, _ in pairs), tuple(node for _, node in pairs))

    pairs = st.lists(st.tuples(st.sampled_from(ops), part), min_size=1, max_size=most)
    return st.builds(build, part, pairs)


def guard_nodes(part):
    args = st.lists(part, max_size=3).map(tuple)
    return (
        st.builds(Unary, st.sampled_from(["-", "not"]), part)
        | st.builds(Binary, st.sampled_from("+-*/%"), part, part)
        | compare(part, ["==", "!=", "<", "<=", ">", ">=", "in"])
        | logic(part)
        | st.builds(Items, st.just("list"), args)
        | st.builds(Call, st.sampled_from(["tokens", "arg", "f"]), args)
    )


GUARD_LEAVES = (
    CONSTANTS
    | st.builds(Name, NAMES)
    | st.just(Attribute(Attribute(Name("event"), "tool"), "name"))
)
GUARDS = st.recursive(GUARD_LEAVES, guard_nodes, max_leaves=12)


def clauses(part):
    one = st.builds(
        Clause,
        st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(tuple),
        st.just(True),
        part,
        st.lists(part, max_size=2).map(tuple),
    )
    plain = st.builds(
        Clause, st.sampled_from("xyz").map(lambda n: (n,)), st.just(False), part, st.just(())
    )
    return st.lists(one | plain, min_size=1, max_size=2).map(tuple)


def condition_nodes(part):
    args = st.lists(part, max_size=3).map(tuple)
    maybe = st.none() | part
    keywords = st.just(()) | st.builds(Keyword, st.just("key"), part).map(lambda k: (k,))
    plain = PLAIN_CONSTANTS.filter(lambda c: isinstance(c.value, int)) | st.builds(Name, NAMES)
    return (
        guard_nodes(part)
        | st.builds(Unary, st.just("+"), part)
        | st.builds(Binary, st.sampled_from(["//", "**"]), part, part)
        | compare(part, ["==", "<", "in", "not in"], most=3)
        | st.builds(Choice, part, part, part)
        | st.builds(Attribute, part, st.sampled_from(["x", "name"]))
        | st.builds(Index, part, part)
        | st.builds(Slice, part, maybe, maybe, maybe)
        | st.builds(Method, part, st.sampled_from(["get", "lower"]), args, keywords)
        | st.builds(Call, st.sampled_from(["len", "f"]), args, keywords)
        | st.builds(Items, st.sampled_from(["list", "tuple"]), args)
        | st.builds(Items, st.just("set"), args.filter(bool))
        | st.lists(st.tuples(part, part), max_size=2).map(
            lambda ps: Pairs(tuple(k for k, _ in ps), tuple(v for _, v in ps))
        )
        | st.lists(plain, min_size=1, max_size=2).map(lambda ps: Text((Const("é{}\n "), *ps)))
        | st.builds(Comprehension, st.sampled_from(["list", "set"]), part, st.none(), clauses(part))
        | st.builds(Comprehension, st.just("map"), part, part, clauses(part))
    )


CONDITIONS = st.recursive(
    CONSTANTS | st.just(Const(None)) | st.builds(Name, NAMES), condition_nodes, max_leaves=12
)
