"""Random trees that mostly have a value: numbers, texts, booleans, lists, maps, sets kept apart.

Where they are mixed, the languages must refuse what Python refuses.
"""

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

ORDER = ["==", "!=", "<", "<=", ">", ">="]
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "**"]
# Above what fits into a machine word, and into a float.
LARGE = st.sampled_from([2**63, 10**400])
SMALL = st.integers(-2, 4).map(Const)
SHARED_NUMBERS = (
    st.builds(Const, st.integers(0, 20) | st.floats(0, 9, width=16) | LARGE)
    | st.builds(Name, st.sampled_from("nmxop"))
)  # fmt: skip
SHARED_TEXTS = st.builds(Const, st.sampled_from(["", "a", "Hello", "12", "a,b", "é\n'\""])) | (
    st.builds(Name, st.sampled_from("st"))
)
SHARED_BOOLEANS = st.builds(Const, st.booleans()) | st.just(Name("yes"))


def some(part, least=0):
    return st.lists(part, min_size=least, max_size=3).map(tuple)


def compared(left, ops, right=None):
    right = left if right is None else right
    return st.builds(lambda a, op, b: Compare(a, (op,), (b,)), left, st.sampled_from(ops), right)


def shared(depth):
    """Numbers, texts and booleans that both grammars can say."""
    if depth == 0:
        return SHARED_NUMBERS, SHARED_TEXTS, SHARED_BOOLEANS
    numbers, texts, booleans = shared(depth - 1)
    lists = st.builds(Items, st.just("list"), some(numbers) | some(texts))
    return (
        numbers
        | st.builds(Binary, st.sampled_from("+-*/%"), numbers, numbers)
        | st.builds(Unary, st.just("-"), numbers),
        texts | st.builds(Binary, st.just("+"), texts, texts),
        booleans
        | compared(numbers, ORDER)
        | compared(texts, ORDER)
        | st.builds(Logic, st.sampled_from(["and", "or"]), some(booleans, 2))
        | st.builds(Unary, st.just("not"), booleans)
        | compared(numbers | texts, ["in"], lists),
    )


def call(names, *parts, **keywords):
    return _called(st.just(()), names, parts, keywords).map(
        lambda made: Call(made[1], made[2], made[3])
    )


def method(names, owner, *parts, **keywords):
    return _called(owner, names, parts, keywords).map(lambda made: Method(*made))


def _called(owner, names, parts, keywords):
    words = [st.builds(Keyword, st.just(name), part) for name, part in keywords.items()]
    return st.tuples(owner, st.sampled_from(names), st.tuples(*parts), st.tuples(*words))


def loops(iterables, *names, condition=None):
    """The clauses of a comprehension over these."""
    tests = st.just(()) if condition is None else some(condition).map(lambda c: c[:1])
    unpacks = len(names) > 1
    return st.builds(lambda it, test: (Clause(names, unpacks, it, test),), iterables, tests)


def comprehension(kind, element, clauses, value=None):
    return st.builds(
        Comprehension, st.just(kind), element, st.none() if value is None else value, clauses
    )


def arithmetic_with(name, numbers, ops=ARITHMETIC):
    """A loop variable, alone and in arithmetic."""
    return st.just(Name(name)) | st.builds(
        Binary, st.sampled_from(ops), st.just(Name(name)), numbers
    )


class Wide:
    """Everything of conditions, by kind, at most so many nodes deep."""

    def __init__(self, depth):
        if depth == 0:
            self.numbers, self.texts, self.booleans = shared(0)
            self.numbers |= st.sampled_from(
                [_field("r", "size"), _field("r", "cost"), Binary("**", Const(10), Const(1200))]
            )
            self.texts |= st.sampled_from([_field("r", "name"), Index(Name("r"), Const("name"))])
            self.lists = st.just(Name("l"))
            self.maps = st.just(Name("d"))
            self.sets = st.builds(Items, st.just("set"), some(st.integers(0, 4).map(Const), 1))
            return
        below = Wide(depth - 1)
        self.numbers = below.numbers | below.more_numbers()
        self.texts = below.texts | below.more_texts()
        self.booleans = below.booleans | below.more_booleans()
        self.lists = below.lists | below.more_lists()
        self.maps = below.maps | below.more_maps()
        self.sets = below.sets | below.more_sets()

    @property
    def ordered(self):
        """Any kind but sets: how Python prints and walks those differs from run to run."""
        return self.numbers | self.texts | self.booleans | self.lists | self.maps

    @property
    def unions(self):
        """A value of one kind or another."""
        part = self.ordered
        return st.builds(Logic, st.sampled_from(["and", "or"]), some(part, 2)) | st.builds(
            Choice, self.booleans, part, part
        )

    def whole(self):
        """Any of them, each kind as often as another."""
        kinds = (self.numbers, self.texts, self.booleans, self.lists, self.maps, self.sets)
        return st.sampled_from([*kinds, self.mixed()]).flatmap(lambda kind: kind)

    def picked(self):
        """Arithmetic on what went through a container, where types are easily lost or made up."""
        least = Wide(0)
        kept = least.numbers | LARGE.map(Const) | least.texts | least.booleans | least.lists
        listed = st.builds(Items, st.sampled_from(["list", "tuple"]), some(kept, 1))
        mapped = st.builds(lambda value: Pairs((Const("a"),), (value,)), kept)
        either = st.builds(
            lambda op, left, right: Logic(op, (left, right)),
            st.sampled_from(["and", "or"]), least.texts | listed, listed | mapped | least.texts,
        )  # fmt: skip
        indexed = st.builds(Index, listed | either, st.sampled_from([Const(0), Name("yes")]))
        value = (
            indexed
            | st.builds(Attribute, mapped, st.just("a"))
            | st.builds(Index, mapped, st.just(Const("a")))
        )
        used = st.builds(Binary, st.sampled_from("+-*/"), value, least.numbers)
        looped = comprehension("list", arithmetic_with("e", least.numbers), loops(listed, "e"))
        return (
            used
            | compared(value, ORDER, least.numbers)
            | st.builds(Unary, st.just("-"), value)
            | looped
        )

    def more_numbers(self):
        return (
            st.builds(Binary, st.sampled_from(ARITHMETIC), self.numbers, self.numbers)
            | st.builds(Unary, st.sampled_from("+-"), self.numbers)
            | st.builds(Choice, self.booleans, self.numbers, self.numbers)
            | call(["len"], self.lists | self.texts | self.maps | self.sets)
            | call(["abs", "round", "int", "float"], self.numbers)
            | call(["round"], self.numbers, ndigits=SMALL)
            | call(["round"], self.numbers, SMALL)
            | call(["int"], self.texts, base=SMALL | st.just(Const(16)))
            | call(["sum", "min", "max"], self.lists)
            | call(["sum"], self.lists, start=self.numbers)
            | call(["sum"], self.lists, self.numbers)
            | call(["min", "max"], self.lists, default=self.numbers)
            | call(["min", "max"], self.numbers, self.numbers)
            | call(["min", "max"], self.sets)
            | call(["sum"], method(["values"], self.maps))
            | st.builds(Index, self.lists, SMALL | self.numbers)
            | st.builds(Index, self.maps, self.texts)
            | st.builds(Attribute, self.maps, st.sampled_from(["a", "Hello"]))
            | method(["get"], self.maps, self.texts, self.numbers)
            | method(["count", "index"], self.texts, self.texts)
            | method(["count", "index"], self.lists, self.numbers)
        )

    def more_texts(self):
        return (
            st.builds(Binary, st.just("+"), self.texts, self.texts)
            | st.builds(Binary, st.just("*"), self.texts, SMALL | self.numbers)
            | call(["str"], self.ordered)
            | method(["lower", "upper", "strip"], self.texts)
            | method(["strip"], self.texts, self.texts)
            | method(["replace"], self.texts, self.texts, self.texts)
            | method(["replace"], self.texts, self.texts, self.texts, SMALL)
            | method(["join"], self.texts, method(["split"], self.texts))
            | st.builds(Slice, self.texts, *[st.none() | SMALL | self.numbers] * 2, st.none())
            | st.builds(Text, some(st.builds(Name, st.sampled_from("nmxs")), 1))
        )

    def more_booleans(self):
        chain = st.builds(
            lambda a, o, p, b, c: Compare(a, (o, p), (b, c)), self.numbers,
            st.sampled_from(ORDER), st.sampled_from(ORDER), self.numbers, self.numbers,
        )  # fmt: skip
        nothing = st.just(Const(None))
        return (
            compared(self.numbers, ORDER)
            | compared(self.texts, ORDER)
            | compared(self.lists, ORDER)
            | compared(self.sets, ORDER)
            | compared(self.maps, ["==", "!="])
            | chain
            | st.builds(Unary, st.just("not"), self.ordered)
            | compared(self.numbers | self.texts, ["in", "not in"], self.lists | self.sets)
            | compared(self.texts, ["in", "not in"], self.texts | self.maps)
            | compared(self.ordered, ["is", "is not"], nothing)
            | call(["any", "all"], self.lists)
            | call(["bool"], self.ordered | self.sets)
            | method(["startswith", "endswith"], self.texts, self.texts)
        )

    def more_lists(self):
        step = st.none() | SMALL
        of_records = st.sampled_from(
            [_field("e", "size"), _field("e", "cost"), Index(Name("e"), Const("size"))]
        ) | st.builds(Binary, st.sampled_from("+-*/"), st.just(_field("e", "size")), self.numbers)
        pairs = loops(method(["items"], self.maps), "k", "v")
        return (
            st.builds(Items, st.sampled_from(["list", "tuple"]), some(self.numbers))
            | st.builds(Binary, st.just("+"), self.lists, self.lists)
            | st.builds(Binary, st.just("*"), self.lists, SMALL)
            | call(["sorted"], self.lists | self.sets)
            | call(["sorted"], self.lists | self.sets, reverse=self.booleans)
            | call(["sorted"], method(["keys", "values", "items"], self.maps))
            | method(["split"], self.texts, self.texts)
            | method(["split"], self.texts, sep=self.texts)
            | method(["split"], self.texts, sep=st.just(Const(",")), maxsplit=SMALL)
            | method(["split"], self.texts, maxsplit=SMALL)
            | st.builds(Slice, self.lists, step, step, step)
            | comprehension(
                "list",
                arithmetic_with("e", self.numbers),
                loops(self.lists, "e", condition=self.booleans),
            )
            | comprehension("list", of_records, loops(st.just(Name("rs")), "e"))
            | comprehension("list", arithmetic_with("v", self.numbers), pairs)
            | st.just(_field("r", "tags"))
        )

    def more_maps(self):
        pairs = st.lists(st.tuples(self.texts, self.numbers), max_size=3)
        by_name = comprehension(
            "map", st.just(_field("e", "name")), loops(st.just(Name("rs")), "e"), self.numbers
        )
        return (
            pairs.map(lambda ps: Pairs(tuple(k for k, _ in ps), tuple(v for _, v in ps)))
            | comprehension("map", call(["str"], st.just(Name("e"))), loops(self.lists, "e"),
                            arithmetic_with("e", self.numbers))
            | by_name
            | st.sampled_from([Name("r"), Index(Name("rs"), Const(0))])
        )  # fmt: skip

    def more_sets(self):
        return (
            st.builds(Items, st.just("set"), some(self.numbers, 1) | some(self.texts, 1))
            | st.builds(Binary, st.just("-"), self.sets, self.sets)
            | comprehension("set", arithmetic_with("e", self.numbers), loops(self.lists, "e"))
        )

    def mixed(self):
        """Operations on values of the wrong kind, or of one kind or another."""
        part = self.ordered | self.unions
        # `%` formats texts in Python, and we do not (TR-A06).
        ops = [op for op in ARITHMETIC if op != "%"]
        return (
            st.builds(Binary, st.sampled_from(ops), part, part)
            | st.builds(Binary, st.sampled_from("+*"), st.builds(Index, self.unions, SMALL), part)
            | st.builds(Unary, st.sampled_from("+-"), part)
            | st.builds(Index, part, part)
            | st.builds(Slice, part, *[st.none() | SMALL] * 3)
            | compared(part, [*ORDER, "in", "not in"])
            | call(["len", "sum", "min", "max", "sorted", "any", "all", "abs", "round", "int",
                    "float", "str", "bool"], part)
            | call(["min", "max"], part, part)
            | call(["min", "max"], part, part, default=part)
            | call(["round"], part, ndigits=part)
            | call(["int"], part, base=part)
            | call(["sum"], part, start=self.numbers | self.booleans | self.maps)
            | call(["sorted"], part, reverse=part)
            | method(["lower", "get", "split", "count", "index"], part)
            | method(["get", "split", "count", "index", "join", "startswith"], part, part)
            | method(["split"], part, sep=part, maxsplit=part)
            | comprehension("list", arithmetic_with("e", part, ops), loops(part, "e"))
            | comprehension("map", st.just(Name("e")), loops(part, "e"), part)
        )  # fmt: skip


def _field(owner, name):
    return Attribute(Name(owner), name)
