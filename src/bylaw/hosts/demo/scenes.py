"""The scenes of the demo: what a person and an agent do, and what Bylaw replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.demo.office import Office
from bylaw.hosts.demo.scripted_agent import ScriptedAgent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = "src/shapes.py"
TEST = "tests/shapes_test.py"
AREA = "def area(width, height):\n    return width * height\n"
PERIMETER = "\n\ndef perimeter(width, height):\n    return 2 * (width + height)\n"
TESTS = """\
from src.shapes import area, perimeter

assert area(2, 3) == 6
assert perimeter(2, 3) == 10
"""


class Act(Struct, frozen=True):
    """One thing that the person or the agent does. `do` does it and returns the reply, if any."""

    who: str
    what: str
    do: Callable[[], str]


class Scene(Struct, frozen=True):
    """A rule of one language in action. `file` is the file of the rule."""

    title: str
    file: str
    acts: tuple[Act, ...]


def scenes(root: str) -> Iterator[Scene]:
    """Yield the scenes in order. Each one builds on the files and the session of those before."""
    agent = ScriptedAgent(root)
    yield _no_browsing(agent)
    yield _token_budget(agent)
    yield _few_patches(agent)
    yield _tests(agent)
    yield _release(Office(root))


def _no_browsing(agent: ScriptedAgent) -> Scene:
    ask = "/review()\nIs area() right?"
    search = "area of a rectangle"
    return Scene(
        "A protocol denies browsing: context language",
        ".bylaw/context/modes.md",
        (
            Act("person", "/review() Is area() right?", lambda: agent.hear(ask, tokens=20_000)),
            Act("agent", f"WebSearch “{search}”", lambda: agent.search(search)),
        ),
    )


def _token_budget(agent: ScriptedAgent) -> Scene:
    ask = "/build()\nThen fix it."
    return Scene(
        "A notice when the token budget runs out: TOML rule",
        ".bylaw/rules/token-budget.toml",
        (Act("person", "/build() Then fix it.", lambda: agent.hear(ask, tokens=85_000)),),
    )


def _few_patches(agent: ScriptedAgent) -> Scene:
    patches = (AREA, AREA + PERIMETER, PERIMETER)
    return Scene(
        "A quota denies the third patch: ChatMD policy",
        "rules/few-patches.chatmd",
        tuple(
            Act("agent", f"apply_patch {SOURCE}", lambda text=text: agent.patch(SOURCE, text))  # type: ignore[misc] # the text of this turn
            for text in patches
        ),
    )


def _tests(agent: ScriptedAgent) -> Scene:
    return Scene(
        "Code must change with its tests: file policy",
        ".deepwork/policies/tests.md",
        (
            Act("agent", "is done", lambda: agent.stop("It multiplies now.")),
            Act("agent", f"Write {TEST}", lambda: agent.write(TEST, TESTS)),
            Act("agent", "is done", lambda: agent.stop("It multiplies now, and is tested.")),
        ),
    )


def _release(office: Office) -> Scene:
    return Scene(
        "A command waits for an approval: RULE_DSL",
        "runtime/rules/release.yaml",
        (
            Act("agent", "sends a release request to the bus", office.ask),
            Act("person", "approves it with a token file", office.approve),
        ),
    )
