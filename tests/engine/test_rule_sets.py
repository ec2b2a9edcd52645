"""What adding, moving and mixing rules can change: the properties P2, P3, P4 and P7."""

from driving import as_bytes
from forms import TOML, book, group
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from msgspec.structs import replace as altered
from random_books import (
    EVERYTHING,
    RANDOM,
    Library,
    Which,
    answered,
    histories,
    libraries,
    lived,
    thrown,
    thrown_book,
    thrown_rule,
)

from bylaw.engine.index import RuleSet
from bylaw.model.procedure import SortKey
from bylaw.model.rule import Origin
from bylaw.model.session import variable_space
from bylaw.model.vocabulary import Op, Verdict


class TestOrder:
    """P2: only the order that a language defines counts, not where things happened to stand."""

    @settings(RANDOM, max_examples=500)
    @given(libraries(), histories, st.randoms(use_true_random=False))
    def test_permuting_definitions_files_and_books_changes_nothing(self, library, history, chance):
        shuffled = _shuffled([_shuffled_book(made, chance) for made in library], chance)
        before = [as_bytes(decision) for *_, decision in lived(library, history)]

        assert [as_bytes(decision) for *_, decision in lived(shuffled, history)] == before


def _shuffled(things, chance):
    return chance.sample(list(things), len(things))


def _shuffled_book(made, chance):
    # Groups with different places in the order of visiting; two of one place stay as they are.
    groups = [replace(each, rules=tuple(_shuffled(each.rules, chance))) for each in made.groups]
    if len({each.visit for each in groups}) == len(groups):
        groups = _shuffled(groups, chance)
    return replace(made, groups=tuple(groups))


def thrown_observer(dice):
    """TOML rules: they observe, they never judge."""
    which = replace(EVERYTHING, verdicts=(None,), gates=((),), reaching=False)
    made = thrown_book(dice, "toml", "rules/observing", which)
    rules = [replace(one, plan=_own_steps(one)) for each in made.groups for one in each.rules]
    return Library([book(group("toml", *rules, procedure=TOML), path="rules/observing")])


def _own_steps(one):
    # Enabling sets is for commands of the context language; nothing else has those gates.
    makers = tuple(maker for maker in one.plan.steps if maker.op is not Op.RULES_ENABLE)
    return replace(one.plan, steps=makers)


class TestObserving:
    """P3"""

    @settings(RANDOM, max_examples=300)
    @given(libraries(), thrown(thrown_observer, 400), histories)
    def test_adding_a_toml_rule_never_changes_a_verdict(self, library, observers, history):
        with_observers = RuleSet([*library, *observers])
        for session, event, decision in lived(library, history):
            _, now = answered(with_observers, session, event)
            assert now.verdict is decision.verdict
            assert now.reasons == decision.reasons


# An added rule of these neither reads what became of others nor changes what they read.
PLAIN_ADDITION = Which(verdicts=(Verdict.WARN, *Verdict), gates=((),), writes=False, reaching=False)


class TestStrengthening:
    """P4"""

    @settings(RANDOM, max_examples=600)
    @given(
        libraries(Which(reaching=False)),
        thrown(lambda dice: thrown_rule(dice, "chatmd", "a", 1_000, PLAIN_ADDITION), 60),
        st.integers(0, 9),
        histories,
    )
    def test_rules_added_at_the_end_never_weaken(self, library, added, at, history):
        made = library[at % len(library)]
        place = at % len(made.groups)
        groups = [
            _with_last(each, added) if number == place else each
            for number, each in enumerate(made.groups)
        ]
        books = [each for each in library if each is not made]
        more = RuleSet([*books, replace(made, groups=tuple(groups))])
        for session, event, decision in lived(library, history):
            _, now = answered(more, session, event)
            assert now.verdict >= decision.verdict
            kept = [reason for reason in now.reasons if reason.uid != added.uid]
            assert kept == list(decision.reasons) or _falls_silent(made)


def _falls_silent(made):
    """CM-A37: after a denial the denials of another group of the book stand in the trace alone."""
    return any(each.procedure.quiet_after_deny for each in made.groups)


def _with_last(each, added):
    """The group with a rule that comes behind all others, whatever orders them."""
    falling = SortKey.PRIORITY_DESCENDING in each.procedure.order
    last = replace(
        added, id="zzz", rank=9, priority=-9 if falling else 9, origin=Origin("zz", 10**6, 1, "")
    )
    return replace(each, rules=(last, *each.rules))


# Second rounds, enabled sets and notices are shared by all books; all else is their own.
ALONE = Which(gates=((),), reaching=False, notices=False)


class TestNamespaces:
    """P7: no rule reads or writes the variables of another dialect, nor of another book."""

    other_values = st.dictionaries(st.sampled_from(["n", "mode"]), st.integers(0, 2))

    @settings(RANDOM, max_examples=300)
    @given(
        thrown(lambda dice: Library([thrown_book(dice, "chatmd", "a")]), 400),
        histories,
        other_values,
    )
    def test_the_variables_of_others_are_never_read(self, library, history, values):
        rules = RuleSet(library)
        others = {
            variable_space(*name): values for name in [("toml",), ("chatmd", "b"), ("law", "a")]
        }
        for session, event, decision in lived(library, history):
            variables = {**session.slate.variables, **others}
            slate = altered(session.slate, variables=variables)
            _, now = answered(rules, altered(session, slate=slate), event)
            assert as_bytes(now) == as_bytes(decision)
            for _, _, step in decision.numbered_steps():
                assert step.op is not Op.STATE_SET or step.space == variable_space("chatmd", "a")

    @settings(RANDOM, max_examples=300)
    @given(
        thrown(lambda dice: Library([thrown_book(dice, "chatmd", "a", ALONE)]), 400),
        thrown(lambda dice: Library([thrown_book(dice, "toml", "rules", ALONE)]), 400),
        histories,
    )
    def test_what_a_book_says_does_not_depend_on_another(self, first, second, history):
        both, alone = RuleSet([*first, *second]), RuleSet(first)
        for session, event, together in lived([*first, *second], history):
            asked, _ = answered(both, session, event)
            _, decision = answered(alone, session, asked)
            assert _said_by(together, "chatmd:a#") == _said_by(decision, "chatmd:a#")


def _said_by(decision, start):
    parts = (decision.reasons, decision.plans, decision.trace)
    return [[each for each in part if each.uid.startswith(start)] for part in parts]
