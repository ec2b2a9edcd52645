"""What an agent is told of policies that need attention."""

import pytest

from bylaw.model.effects import PromptShow
from bylaw.worktree.stop_message import batch_message, individual_messages

README = PromptShow(
    policy="readme-accuracy",
    title="README Accuracy",
    mode="trigger",
    text="Source files changed. Verify README.md is accurate.\n",
    files=("src/api/users.py",),
)
TESTS = PromptShow(
    policy="source-test-pairing",
    title="Source/Test Pairing",
    mode="set",
    text="Change the test, too.",
    arrows=(
        ("src/auth/login.py", "tests/auth/login_test.py"),
        ("src/api/users.py", "tests/api/users_test.py"),
    ),
)
DOCS = PromptShow(
    policy="api-documentation",
    title="API Documentation",
    mode="pair",
    text="Write it down.",
    arrows=(("api/users.py", "docs/api/users.md"),),
)


def test_the_three_policies_of_the_document():
    """DW-101 to DW-105, DW-107: sections as shown there, lines by path."""
    assert batch_message([README, DOCS, TESTS]) == (
        "The following policies require attention:\n"
        "\n"
        "## Source/Test Pairing\n"
        "src/api/users.py → tests/api/users_test.py\n"
        "src/auth/login.py → tests/auth/login_test.py\n"
        "\n"
        "## API Documentation\n"
        "api/users.py → docs/api/users.md\n"
        "\n"
        "## README Accuracy\n"
        "Source files changed. Verify README.md is accurate.\n"
    )


def test_nothing_to_tell():
    assert batch_message([]) == ""
    assert individual_messages([]) == []


def test_each_on_its_own_carries_its_instructions():
    """DW-106, DW-A34"""
    first, second = individual_messages([README, DOCS])
    assert first == (
        "The following policies require attention:\n\n## API Documentation\n"
        "api/users.py → docs/api/users.md\n\nWrite it down.\n"
    )
    assert second.endswith(
        "## README Accuracy\nSource files changed. Verify README.md is accurate.\n"
    )


def test_sections_of_a_mode_stand_by_identifier_not_by_title():
    """DW-107, DW-A33"""
    titles = {"a": "Z", "b": "Y", "c": "X"}
    for mode in ("set", "pair", "trigger", "created"):
        shown = [PromptShow(policy=one, title=titles[one], mode=mode, text="x") for one in "bca"]
        lines = batch_message(shown).splitlines()
        assert [line for line in lines if line.startswith("##")] == ["## Z", "## Y", "## X"]
        assert [text.splitlines()[2] for text in individual_messages(shown)] == [
            "## Z",
            "## Y",
            "## X",
        ]


def lines_of(count, mode):
    """The lines below the heading of a policy that has so many to tell."""
    paths = [f"src/{n:03}.py" for n in range(count)]
    arrows = tuple((path, f"{path}.md") for path in paths) if mode == "set" else ()
    one = PromptShow(policy="p", title="P", mode=mode, text="\n".join(paths), arrows=arrows)
    return batch_message([one]).splitlines()[3:]


@pytest.mark.parametrize("mode", ["set", "trigger"])
def test_what_is_too_much_is_counted(mode):
    """Twenty lines a policy are told, whatever it has to tell."""
    assert len(lines_of(20, mode)) == 20
    assert lines_of(20, mode)[-1].startswith("src/019.py")

    lines = lines_of(21, mode)
    assert len(lines) == 21
    assert lines[-2].startswith("src/019.py")
    assert lines[-1] == "… and 1 more; `bylaw policies status p` lists them"
    assert lines_of(1_025, mode)[20:] == ["… and 1,005 more; `bylaw policies status p` lists them"]


def test_a_name_with_blanks_is_one_argument():
    """As people would type it."""
    many = "\n".join(f"line {number}" for number in range(30))
    one = PromptShow(policy="keep it", title="p", mode="trigger", text=many)
    assert "`bylaw policies status 'keep it'` lists them" in batch_message([one])


def test_one_line_a_pair_and_nothing_unseen():
    """DW-A35; a name with a line break is still one line."""
    odd = PromptShow(
        policy="p",
        title="A\nB",
        mode="set",
        text="",
        arrows=(("a\n.py", "b.py"), ("a\n.py", "b.py")),
    )
    assert batch_message([odd]).count("\n") == 4
    assert "\x1b" not in batch_message([PromptShow(policy="p", title="\x1b[2J", text="x")])
