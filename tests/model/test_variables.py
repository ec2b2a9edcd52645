"""Variables and enabled sets."""

from bylaw.model.effects import Log, ResponseUse, RulesEnable, StateSet
from bylaw.model.session import EnabledNames, Variables, variable_space


def test_a_variable_is_visible_in_its_own_space_only():
    """TR-A25, P7: no rule reads the variables of another book."""
    mine, other = variable_space("toml", "plugin"), variable_space("toml")
    slate = Variables().after(StateSet(space=mine, name="k", value=42))

    assert slate.space(mine) == {"k": 42}
    assert slate.space(other) == {}
    assert slate.space(variable_space("chatmd", "plugin")) == {}


def test_null_is_stored():
    """TR-A26: the key then exists."""
    space = variable_space("toml")

    assert Variables().after(StateSet(space=space, name="k")).space(space) == {"k": None}


def test_the_slate_before_is_untouched():
    """CM-A53, TR-A39: later rules see the new slate, nobody loses the old one."""
    space = variable_space("chatmd", "a.chatmd")
    before = Variables().after(StateSet(space=space, name="n", value=1))
    after = before.after(StateSet(space=space, name="n", value=2))

    assert (before.space(space), after.space(space)) == ({"n": 1}, {"n": 2})


def test_enabling_replaces_everything():
    """AC-115: after a call exactly this is enabled; a response of before is not selected."""
    slate = (
        Variables()
        .after(RulesEnable(responses=("r1",), workflows=("w",)))
        .after(ResponseUse(id="r1"))
        .after(RulesEnable(protocols=("p1",)))
    )

    assert slate.enabled == EnabledNames(protocols=("p1",))
    assert slate.response == ""


def test_other_steps_do_not_write():
    assert Variables().after(Log(text="x")) == Variables()
