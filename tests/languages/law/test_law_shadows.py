"""Rules that are never reached: what is reported is true, and what people get wrong is reported."""

from functools import cache
from itertools import combinations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_rules import FILE_RULE, RULE, changed, law_file, of_files, rule_of

from bylaw.languages.law.book import find_shadowed, unreached_rules
from bylaw.languages.law.syntax import (
    Category,
    CommandType,
    RequestApproval,
    RuleSyntax,
    RunCommand,
    TakeLock,
    TriggerKind,
    WriteBus,
    parse_template,
)
from bylaw.model.errors import PatternError
from bylaw.model.rule import ApprovalMode
from bylaw.model.vocabulary import Authority, Change, Channel
from bylaw.paths import is_normalised, pattern
from counting import growth, steps_of

TEXT = parse_template("x")
TELL, LOCK = WriteBus(Channel.OUTPUT, TEXT), TakeLock(TEXT)
RUN, ASK = RunCommand(("npm",), "src", 1), RequestApproval(Authority.HUMAN, TEXT)
BOTH = tuple(Authority)


def bus_rule(rule_id, **fields):
    given_fields = {"mode": ApprovalMode.NONE, "actions": (TELL,), **fields}
    return RuleSyntax(
        rule_id=rule_id,
        priority=1,
        kind=TriggerKind.BUS_INPUT,
        line=1,
        column=1,
        last_line=1,
        **given_fields,
    )


def file_rule(rule_id, **fields):
    return RuleSyntax(
        rule_id=rule_id,
        priority=1,
        kind=TriggerKind.FS_EVENT,
        line=1,
        column=1,
        last_line=1,
        mode=ApprovalMode.NONE,
        **{"actions": (TELL,), **fields},
    )


def is_shadowed(early, late):
    """Whether the second of two rules of the bus is reported."""
    return names([bus_rule("early", **early), bus_rule("late", **late)]) == [("late", "early")]


def names(rules):
    return [(late.rule_id, early.rule_id) for late, early in find_shadowed(rules)]


class TestOrder:
    """LD-080 to LD-084, LD-A29"""

    def text(self, rule_id, priority=10, more=""):
        text = changed("R-LINT", rule_id).replace("priority: 10", f"priority: {priority}")
        return text + more

    def told(self, *files):
        rules = of_files([law_file(text, path) for path, text in files])
        return [(one.source.path, one.underlined, one.headline) for one in unreached_rules(rules)]

    def test_the_smaller_priority_comes_first(self):
        files = ("a.yaml", self.text("R-A", 20)), ("b.yaml", self.text("R-B", 10))

        assert self.told(*files) == [
            ("a.yaml", "R-A", "`R-A` is never reached: `R-B` in line 1 of `b.yaml` matches first")
        ]

    def test_equal_priorities_go_by_file(self):
        files = ("b.yaml", self.text("R-B")), ("a.yaml", self.text("R-A"))

        assert [path for path, *_ in self.told(*files)] == ["b.yaml"]

    def test_then_by_position(self):
        rules = "".join(
            "  - " + self.text(name).rstrip().replace("\n", "\n    ") + "\n" for name in "XY"
        )
        (told,) = self.told(("a.yaml", f'dsl_version: "0.1"\nrules:\n{rules}'))

        assert told == ("a.yaml", "Y", "`Y` is never reached: `X` in line 3 matches first")

    def test_a_rule_that_goes_on_takes_nothing(self):
        files = ("a.yaml", self.text("R-A", more="continue: true\n")), ("b.yaml", self.text("R-B"))

        assert self.told(*files) == []

    def test_it_is_a_warning_with_help(self):
        rules = of_files(
            [law_file(self.text("R-A"), "a.yaml"), law_file(self.text("R-B"), "b.yaml")]
        )
        (found,) = unreached_rules(rules)

        assert (found.code, found.severity) == ("law-shadowed", "warning")
        assert "smaller `priority`" in found.help

    def test_the_first_one_is_named(self):
        assert names([bus_rule(one) for one in "abc"]) == [("b", "a"), ("c", "a")]

    def test_rules_of_the_other_kind_take_nothing(self):
        assert names([rule_of(RULE), rule_of(FILE_RULE), file_rule("f"), bus_rule("b")]) == []


class TestGuards:
    """LD-062 to LD-077, LD-A10 to LD-A12, LD-A16, LD-A28"""

    @pytest.mark.parametrize(
        ("early", "late", "shadow"),
        [
            ((), (2,), True),
            ((1, 2), (2,), True),
            ((0, 1, 2, 3, 4), (), True),
            ((2,), (1, 2), False),
            ((2,), (), False),
        ],
    )
    def test_phases(self, early, late, shadow):
        assert is_shadowed({"phases": early}, {"phases": late}) is shadow

    @pytest.mark.parametrize(
        ("early", "late", "shadow"),
        [
            ("AB", "A", True),
            ("", "A", True),
            ("ABCD", "", True),
            ("A", "AB", False),
            ("A", "", False),
        ],
    )
    def test_categories(self, early, late, shadow):
        early, late = (tuple(map(Category, one)) for one in (early, late))

        assert is_shadowed({"categories": early}, {"categories": late}) is shadow

    def test_command_types(self):
        task, exec_, request = CommandType
        wide, narrow = {"command_types": (task, exec_)}, {"command_types": (exec_,)}

        assert is_shadowed(wide, narrow)
        assert is_shadowed({}, wide)
        assert not is_shadowed(narrow, wide)
        assert not is_shadowed(wide, {})
        assert not is_shadowed({"actions": (LOCK, TELL)}, {"command_types": (request,)})
        assert is_shadowed({}, {"command_types": (request,)})
        # What runs something never gets a request, so the rule that lists the others takes all.
        runs = {"actions": (RUN,), "mode": ApprovalMode.DUAL, "authorities": BOTH}
        assert is_shadowed({**runs, **wide}, runs)

    def test_the_pack_that_swallows_everything(self):
        """A guard for the bootstrap phase that stands before the rules of all other phases."""
        guard = {"phases": (1, 2, 3, 4)}
        approved = {"mode": ApprovalMode.SINGLE, "authorities": BOTH, "actions": (LOCK, RUN, TELL)}

        assert is_shadowed(guard, {"phases": (2,), "categories": (Category.B,), **approved})

    @pytest.mark.parametrize("category", [Category.B, Category.C])
    def test_who_executes_does_not_hide_who_asks(self, category):
        executes = {
            "categories": (category,),
            "mode": ApprovalMode.SINGLE,
            "authorities": BOTH,
            "actions": (RUN, TELL),
        }
        asks = {"categories": (category,), "actions": (ASK, TELL)}

        assert not is_shadowed(executes, asks)
        assert is_shadowed(asks, executes)

    @pytest.mark.parametrize(
        ("early", "late", "shadow"),
        [
            (("single", BOTH), ("single", BOTH), True),
            (("single", BOTH), ("single", BOTH[:1]), True),
            (("single", BOTH[:1]), ("single", BOTH), False),
            (("single", BOTH[:1]), ("single", BOTH[1:]), False),
            (("single", BOTH[:1]), ("dual", BOTH), True),
            (("dual", BOTH), ("dual", BOTH), True),
            (("dual", BOTH), ("single", BOTH), False),
        ],
    )
    def test_approvals(self, early, late, shadow):
        early, late = (
            {
                "categories": (Category.B,),
                "mode": ApprovalMode(mode),
                "authorities": authorities,
                "actions": (RUN,),
            }
            for mode, authorities in (early, late)
        )

        assert is_shadowed(early, late) is shadow

    def test_category_d_waits_for_nobody(self):
        strict = {"mode": ApprovalMode.DUAL, "authorities": BOTH, "actions": (RUN,)}
        emergency = {
            "categories": (Category.D,),
            "mode": ApprovalMode.RETROACTIVE,
            "actions": (RUN,),
        }

        assert is_shadowed(strict, emergency)

    def test_a_message_that_asks_for_approval_may_pass_by(self):
        runs = {"categories": (Category.A,), "actions": (RUN,)}

        assert is_shadowed(runs, runs)
        assert not is_shadowed(runs, {"categories": (Category.A,)})


class TestPaths:
    """LD-042, LD-A05, LD-A08"""

    @pytest.mark.parametrize(
        ("early", "late", "shadow"),
        [
            (["src/**"], ["src/**"], True),
            (["**"], ["src/*.ts", "lib/**"], True),
            (["**/*"], ["*"], True),
            (["src/**"], ["src/a/*.ts"], True),
            (["src/**/*"], ["src/a/**"], True),
            (["src/**", "lib/**"], ["lib/a.ts", "src/b/c.ts"], True),
            (["**/*.ts"], ["src/a.ts"], True),
            (["{src,lib}/*.ts"], ["lib/a.ts"], True),
            ([], ["src/**"], True),
            (["**/*.py"], ["src/**/*.py"], True),
            (["src/*.{js,ts}"], ["src/*.ts"], True),
            (["src/*.{js,ts}"], ["src/*.{ts,js}"], True),
            (["src/*.js", "src/*.ts"], ["src/*.{ts,js}"], True),
            (["*.ts"], ["*.test.ts"], True),
            (["src/**/*.ts"], ["src/**/*.test.ts"], True),
            (["src/**/*.ts"], ["src/**/test/*-*.ts"], True),
            (["*", "*/**"], ["**"], True),
            (["**/src/**"], ["a/**/src/**/b/*"], True),
            (["{a,b}/{c,d}"], ["{b,a}/c", "a/{d,c}"], True),
            (["src/{a,b/c}/*"], ["src/b/c/?.ts"], True),
            (["?*"], ["*?"], True),
            (["src/*?"], ["src/*"], True),
            (["{*}.ts"], ["{*}.test.ts"], True),
            (["{**}/{*}"], ["src/**/*.ts"], True),
            (["src/**/*.py"], ["**/*.py"], False),
            (["src/*.js", "src/*.ts"], ["src/*.{ts,js,tsx}"], False),
            (["*.test.ts"], ["*.ts"], False),
            (["*/**"], ["**"], False),
            (["?*?"], ["*"], False),
            (["{*}.ts"], ["?.ts"], False),  # `..ts`
            (["a{**}"], ["a?"], False),  # `a.`
            (["*.ts"], ["**/*.ts"], False),
            (["*.ts", "*/*.ts"], ["**/*.ts"], False),
            (["src/*", "src/*/*"], ["src/**"], False),
            (["src/*"], ["src/{a,a/b}?"], False),
            (["src/**"], ["src2/**"], False),
            (["src/**"], ["src*/**"], False),
            (["src/**"], ["src"], False),
            (["src/*"], ["src/a/b.ts"], False),
            (["src/**"], ["src/**", "lib/**"], False),
            (["src/**"], [], False),
        ],
    )
    def test_of_both_kinds(self, early, late, shadow):
        early, late = {"paths": tuple(early)}, {"paths": tuple(late)}
        of_files_ = names([file_rule("early", **early), file_rule("late", **late)])

        assert is_shadowed(early, late) is shadow
        assert of_files_ == ([("late", "early")] if shadow else [])

    def test_a_message_may_have_no_path_and_a_change_has_one(self):
        rules = {"paths": ("**",)}, {}

        assert not is_shadowed(*rules)
        assert names([file_rule("early", **rules[0]), file_rule("late")]) == [("late", "early")]

    def test_changes(self):
        both = (Change.CREATED, Change.MODIFIED)
        narrow, wide = file_rule("n", event_types=both[:1]), file_rule("w", event_types=both)

        assert names([wide, narrow]) == [("n", "w")]
        assert names([narrow, wide, file_rule("all", event_types=tuple(Change))]) == []


# A small world: what happens, as the requirements say who matches it.
PATHS = ["a.ts", "src", "src/a.ts", "src/b.ts", "src/x/a.ts", "lib/a.py", "sac/a.ts"]
TARGETS = [few for count in range(3) for few in combinations(PATHS, count)]
GRANTED = [(), *((one,) for one in Authority), BOTH]
MESSAGES = list(product(range(3), CommandType, Category, [False, True], GRANTED, TARGETS))
CHANGES = list(product(range(3), Change, [*combinations(PATHS, 1), *combinations(PATHS, 2)]))
PATTERNS = [
    *("**", "**/*", "src/**", "src/**/*", "src/*", "src/a.ts", "*.ts", "**/*.ts", "src/{a,b}.ts"),
    *("lib/**", "s?c/**", "{src,lib}/**", "src/x/**", "*", "src", "src/*/*.ts"),
]


@cache
def fits(patterns, path):
    return any(pattern(text).match(path) is not None for text in patterns)


def matches_change(rule, change):
    phase, type_, paths = change
    return (
        phase in (rule.phases or range(5))
        and type_ in (rule.event_types or tuple(Change))
        and (not rule.paths or any(fits(rule.paths, path) for path in paths))
    )


def matches_message(rule, message):
    phase, type_, category, asks, granted, targets = message
    return (
        phase in (rule.phases or range(5))
        and hears(rule, type_)
        and category in (rule.categories or tuple(Category))
        and is_approved(rule, category, asks, granted)
        and (not rule.paths or (bool(targets) and all(fits(rule.paths, path) for path in targets)))
    )


def hears(rule, type_):
    if rule.command_types:
        return type_ in rule.command_types
    return type_ != "approval_request" or all(isinstance(one, WriteBus) for one in rule.actions)


def is_approved(rule, category, asks, granted):
    """LD-066 to LD-077, LD-A10 to LD-A12"""
    if category is Category.D:
        return True
    asks_nobody = rule.mode in (ApprovalMode.NONE, ApprovalMode.RETROACTIVE)
    if asks_nobody and RUN not in rule.actions:
        return True
    needed = {"single": 1, "dual": 2}.get(rule.mode, 1 if asks or category is not Category.A else 0)
    return len(set(granted) & set(rule.authorities or BOTH)) >= needed


def some(values):
    """Mostly few or none, so that one rule often takes all of another."""
    few = st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)
    return st.just(()) | st.sampled_from(values).map(lambda one: (one,)) | few


APPROVALS = st.one_of(
    st.tuples(st.sampled_from([ApprovalMode.NONE, ApprovalMode.RETROACTIVE]), some(BOTH)),
    st.tuples(st.just(ApprovalMode.SINGLE), st.sampled_from([BOTH, BOTH[:1], BOTH[1:]])),
    st.just((ApprovalMode.DUAL, BOTH)),
)


@st.composite
def random_rules(draw):
    mode, authorities = draw(APPROVALS)
    return bus_rule(
        draw(st.sampled_from("abcdef")),
        phases=draw(some(range(3))),
        command_types=draw(some(list(CommandType))),
        categories=draw(some(list(Category))),
        paths=draw(some(PATTERNS)),
        mode=mode,
        authorities=authorities,
        actions=draw(st.sampled_from([(TELL,), (RUN, TELL), (LOCK, TELL), (ASK,)])),
        goes_on=draw(st.sampled_from([False, False, True])),
    )


@st.composite
def random_file_rules(draw):
    return file_rule(
        draw(st.sampled_from("abcdef")),
        phases=draw(some(range(3))),
        event_types=draw(some(list(Change))),
        paths=draw(some(PATTERNS)),
        goes_on=draw(st.sampled_from([False, False, True])),
    )


class TestTruth:
    """Whatever is reported: in no world does it match while all before it let it pass"""

    @settings(max_examples=200, deadline=None)
    @given(st.lists(random_rules(), min_size=2, max_size=6))
    def test_of_messages(self, rules):
        self.check(rules, matches_message, MESSAGES)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(random_file_rules(), min_size=2, max_size=6))
    def test_of_changes(self, rules):
        self.check(rules, matches_change, CHANGES)

    def check(self, rules, matches, worlds):
        for late, early in find_shadowed(rules):
            assert not early.goes_on
            assert [one is early for one in rules].index(True) < [
                one is late for one in rules
            ].index(True)
            assert all(matches(early, world) for world in worlds if matches(late, world))

    @pytest.mark.parametrize("path_pattern", PATTERNS)
    def test_a_pattern_covers_itself(self, path_pattern):
        paths = {"paths": (path_pattern,)}

        assert is_shadowed(paths, paths)


# Every path of up to six characters; no pattern below has a `b`, so it is any other letter.
LETTERS = "ab./"
SMALL_PATHS = [
    path
    for length in range(1, 7)
    for path in map("".join, product(LETTERS, repeat=length))
    if is_normalised(path)
]
PIECES = ["a", ".", "aa", "*", "?", "{*}", "{**}", "{a,.a}", "{aa,a.}", "{a,a/a}"]
NARROWER = {
    "*": ["", "a", "?", "*a", "a*", "?*", "*a*", "{a,.}", "{*}", "{a,a/a}?"],
    "?": ["a", "."],
    "{*}": ["a", "aa", "?", "?a", "???", "{*}a", "*a"],
    "{**}": ["a", "?/?", "{*}", "a/{**}", "**/a", "*/*"],
    "{a,.a}": ["a", ".a", "{.a,a}"],
    "{aa,a.}": ["aa", "{a.,aa}"],
    "{a,a/a}": ["a", "a/a", "{a/a,a}"],
    "**": ["*", "a/**", "**/a", "**/*/**", "?/*"],
}


@cache
def small_paths(text):
    made = pattern(text)
    return frozenset(path for path in SMALL_PATHS if made.match(path) is not None)


def is_pattern(text):
    try:
        return bool(pattern(text))
    except PatternError:
        return False


SEGMENTS = st.just(["**"]) | st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)
PIECED = st.lists(SEGMENTS, min_size=1, max_size=3)


@st.composite
def pattern_pairs(draw):
    """Patterns, and others that are mostly somewhat narrower."""
    wide = draw(st.lists(PIECED, min_size=1, max_size=3))
    narrow = [
        [[draw(st.sampled_from([one, *NARROWER.get(one, [])])) for one in part] for part in pieced]
        for pieced in draw(st.lists(st.sampled_from(wide) | PIECED, min_size=1, max_size=2))
    ]
    return tuple(
        tuple(filter(is_pattern, ("/".join(map("".join, pieced)) for pieced in pieces)))
        for pieces in (wide, narrow)
    )


class TestTruthOfPaths:
    """Whatever patterns are said to cover others: no short path says otherwise"""

    @settings(max_examples=300, deadline=None)
    @given(pattern_pairs())
    def test_no_path_is_left(self, pair):
        wide, narrow = pair
        assume(wide and narrow)
        covered = names([file_rule("early", paths=wide), file_rule("late", paths=narrow)])
        left = self.paths(narrow) - self.paths(wide)

        assert not (covered and left)

    def test_of_simple_patterns_all_is_found(self):
        parts = ["a", "*", "?", "*a", "a*", "?*", "**", "{a,aa}"]
        texts = [*parts, *map("/".join, product(parts, repeat=2))]
        for wide, narrow in product(texts, repeat=2):
            covered = names([file_rule("early", paths=(wide,)), file_rule("late", paths=(narrow,))])

            assert bool(covered) is (small_paths(narrow) <= small_paths(wide)), (wide, narrow)

    def paths(self, patterns):
        return frozenset().union(*map(small_paths, patterns))


def test_the_work_grows_with_the_rules_not_with_their_square():
    def compare(count):
        rules = [
            bus_rule(
                str(number),
                paths=(f"src/{count}/{number}/**", f"lib/{count}/{number}.ts"),
                categories=(Category.A,),
            )
            for number in range(count)
        ]
        assert names(rules) == []

    assert growth(compare, 500) < 2.5


def test_patterns_that_are_hard_to_compare_take_few_steps():
    """The one `a` can be at every place; a bound ends the search."""
    ahead = "".join(f"a{number}" for number in range(100, 200))
    rules = [
        bus_rule(str(n), paths=(f"*a{'?' * 300}", f"*{{a,b}}*{{a,b}}{ahead}{n:04}{{a,b}}"))
        for n in range(60)
    ]
    found = []
    steps_of(lambda: found.extend(names(rules)), most=20_000_000)

    assert found == []
