"""Commands: quoting without a shell, the whitelist, and what a shell would have done."""

import shlex

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from law_rules import RULE, changed, doubt, refusal, rule_of

from bylaw.expr.command_line import MAX_COMMAND
from bylaw.languages.law.action_reader import WHITELIST, CommandError, read_command
from bylaw.model.codes import Code
from counting import growth

ARGUMENTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))


def problem(text):
    """What is wrong with a command, if anything is."""
    try:
        read_command(text)
    except CommandError as wrong:
        return wrong
    return None


def refused(text):
    with pytest.raises(CommandError) as caught:
        read_command(text)
    return caught.value


def underlined(text):
    wrong = refused(text)
    return text[wrong.span.start : wrong.span.end]


def with_command(cmd):
    """The rule with this command, in YAML's single quotes."""
    return changed('"npm run lint"', "'" + cmd.replace("'", "''") + "'")


class TestQuoting:
    """LD-097"""

    @pytest.mark.parametrize(
        ("text", "argv"),
        [
            ("npm run lint", ["npm", "run", "lint"]),
            ('python -c "print(1); print(2)"', ["python", "-c", "print(1); print(2)"]),
            ("  npm \t test  ", ["npm", "test"]),
            ("node 'a b'c\"d e\"", ["node", "a bcd e"]),
            ("node ''", ["node", ""]),
            ("node \"\" ''", ["node", "", ""]),
            (r"node a\ b \; \$x \'", ["node", "a b", ";", "$x", "'"]),
            (r'node "\$x \` \" \\ \n"', ["node", '$x ` " \\ \\n']),
            ("node '$x `y` && z | # {a}'", ["node", "$x `y` && z | # {a}"]),
            ("node 'a\nb' \"c\nd\"", ["node", "a\nb", "c\nd"]),
            ('node "a\\\nb"', ["node", "ab"]),
            ("node a#b {a,b} a=b", ["node", "a#b", "{a,b}", "a=b"]),
            ("'npm' t\"es\"t", ["npm", "test"]),
        ],
    )
    def test_arguments(self, text, argv):
        assert read_command(text).argv == tuple(argv)

    @given(st.sampled_from(WHITELIST), ARGUMENTS)
    def test_what_was_quoted_comes_back(self, program, arguments):
        text = shlex.join([program, *arguments])
        assume("{{" not in text)

        assert read_command(text).argv == (program, *arguments)

    @given(st.sampled_from(WHITELIST), st.text(max_size=30))
    def test_nothing_is_read_otherwise_than_posix_says(self, program, rest):
        """An independent reader: what is accepted gives the same arguments there."""
        text = f"{program} {rest}"
        assume(problem(text) is None)

        # That one knows no line that goes on inside of double quotes, and drops other blanks.
        assume(not set("\v\f\r\x1c\x1d\x1e\x1f\x85\xa0").intersection(text) and "\\\n" not in text)
        assert list(read_command(text).argv) == shlex.split(text)

    @given(st.text(alphabet="npm '\"\\$`;&|<>()#*?~[]{}=\n\ta", max_size=20))
    def test_every_text_is_split_or_refused(self, text):
        wrong = problem(text)

        assert wrong is None or (isinstance(wrong.code, Code) and wrong.reason and wrong.help)
        assert wrong is None or 0 <= wrong.span.start <= wrong.span.end <= len(text)

    @pytest.mark.parametrize(
        ("text", "at"), [("npm 'a", "'"), ('npm "a\\"', '"'), ("npm a\\", "\\")]
    )
    def test_what_is_not_closed(self, text, at):
        assert refused(text).code.name == "law-command-quotes"
        assert underlined(text) == at

    @pytest.mark.parametrize("text", ["", "  ", "\n"])
    def test_nothing_is_no_command(self, text):
        assert refused(text).reason == "the command is empty"

    @pytest.mark.parametrize("bad", ["\0", "\ud800"])
    def test_characters_that_no_argument_can_have(self, bad):
        assert underlined(f"npm 'a{bad}'") == bad

    def test_it_is_limited(self):
        assert read_command("npm " + "x" * (MAX_COMMAND - 4))
        assert "longer" in refused("npm " + "x" * (MAX_COMMAND - 3)).reason

    @pytest.mark.parametrize("piece", ["'", '"', "\\", "\\'", '"\\', "' ", "a\\\n", "''", "~*"])
    def test_the_steps_grow_with_the_text_not_with_its_square(self, piece):
        def read(size):
            problem("npm " + piece * ((size - 4) // len(piece)))

        assert growth(read, MAX_COMMAND // 2) < 2.5


class TestNoShell:
    """LD-097, LD-098, LD-A19"""

    @pytest.mark.parametrize(
        ("text", "at"),
        [
            ("npm run lint && rm -rf x", "&&"),
            ("npm run lint || true", "||"),
            ("python x.py > out", ">"),
            ("python x.py >> out", ">>"),
            ("python x.py 2>&1", ">"),
            ("python < in", "<"),
            ("python << EOF", "<<"),
            ("python x.py; ls", ";"),
            ("python x.py | cat", "|"),
            ("python x.py &", "&"),
            ("node `id`", "`"),
            ("python $(id)", "$("),
            ("npm run ${X}", "${"),
            ("npm run $X", "$"),
            ("npm a$", "$"),
            ("npm (a)", "("),
            ("npm a)", ")"),
            ("npm a # b", "#"),
            ("npm a\nls", "\n"),
            ("npm a\r\nls", "\r"),
            ("npm \\\nls", "\\\n"),
            ('node "$X"', "$"),
            ('node "a$(id)"', "$("),
            ('node "`id`"', "`"),
            ("node $'a'", "$"),
        ],
    )
    def test_shell_syntax_is_refused(self, text, at):
        assert refused(text).code.name == "law-shell-syntax"
        assert underlined(text) == at

    def test_what_helps(self):
        assert "single quotes" in refused('node "$X"').help
        assert "one program" in refused("npm a; ls").help
        assert "one line" in refused("npm a\nls").help

    @pytest.mark.parametrize(
        "text",
        ["python {{msg_run_0}}", "{{run}} --all", "python '{{title}}'", 'npm "{{a', "npm a{{{b}}}"],
    )
    def test_nothing_is_filled_in(self, text):
        assert refused(text).code.name == "law-interpolation"
        assert underlined(text).startswith("{{")

    @pytest.mark.parametrize(
        ("text", "at"),
        [
            ("npm *.ts", ["*"]),
            ("npm a?b [x]", ["?", "["]),
            ("npm ~ ~/a a~", ["~", "~"]),
            ("npm '*' \"?\" \\* '~'", []),
        ],
    )
    def test_what_would_be_expanded_is_told(self, text, at):
        assert [text[one.start : one.end] for one in read_command(text).unexpanded] == at


class TestWhitelist:
    """LD-095, LD-096, LD-102"""

    @pytest.mark.parametrize("program", WHITELIST)
    def test_six_programs(self, program):
        assert read_command(f"{program} x").argv == (program, "x")
        assert read_command(program).argv == (program,)

    def test_no_seventh(self):
        assert WHITELIST == ("npm", "pnpm", "yarn", "python", "pytest", "node")

    @pytest.mark.parametrize(
        "text",
        [
            *("npmx", "python3 x.py", "python-evil", "git status", "ls", "NPM test", "npm.cmd"),
            *("./python x.py", "/usr/bin/python x.py", "PATH=. python x.py", "sudo npm i"),
            *("bin/npm", "'npm test'", '"" npm', "npm\u00a0test", "X+=1 npm", "env npm", "! npm"),
        ],
    )
    def test_nothing_else(self, text):
        assert refused(text).code.name == "law-command-not-allowed"

    @pytest.mark.parametrize(
        ("text", "at", "told"),
        [
            ("python3 x.py", "python3", "did you mean `python`?"),
            (" git status", "git", "use one of `npm`, `pnpm`, `yarn`, `python`, `pytest`, `node`"),
            ("PATH=. python x.py", "PATH=.", "begin with the program"),
            ("'./python' x.py", "'./python'", "use one of"),
        ],
    )
    def test_what_helps(self, text, at, told):
        assert underlined(text) == at
        assert refused(text).help.startswith(told)


class TestInRules:
    """LD-095 to LD-098, LD-A18: at load, at the place in the file"""

    def test_the_arguments(self):
        rule = rule_of(with_command('python -c "print(1); print(2)"'))

        assert rule.actions[1].argv == ("python", "-c", "print(1); print(2)")

    @pytest.mark.parametrize(
        ("cmd", "code", "at"),
        [
            ("git status", "law-command-not-allowed", "git"),
            ("npm run lint && rm -rf x", "law-shell-syntax", "&&"),
            ("python {{msg_run_0}}", "law-interpolation", "{{msg_run_0}}"),
            ("{{run}} --all", "law-interpolation", "{{run}}"),
            ("npm run ${X}", "law-shell-syntax", "${"),
            ("", "law-command-quotes", "''"),
            ('npm "x', "law-command-quotes", '"'),
        ],
    )
    def test_the_bad_part_is_underlined(self, cmd, code, at):
        found = refusal(with_command(cmd))

        assert (found.code, found.underlined) == (code, at)
        assert found.help

    def test_if_it_is_written_with_escapes_all_of_it_is(self):
        assert (
            refusal(changed('"npm run lint"', '"git\\u0020status"')).underlined
            == '"git\\u0020status"'
        )

    @pytest.mark.parametrize("written", ["3", "[npm, test]"])
    def test_it_is_a_text(self, written):
        found = refusal(changed('"npm run lint"', written))

        assert (found.code, found.underlined) == ("law-wrong-value", written)

    def test_what_is_not_expanded_is_doubted(self):
        found = doubt(with_command("python check.py *.ts"))

        assert (found.code, found.underlined) == ("law-not-expanded", "*")
        assert "quotes" in found.help


class TestCommandsOfMessages:
    """LD-098, LD-A18"""

    APPROVED = "{mode: single, authorities: [human]}"

    def rule(self, categories, run="{{run}}"):
        text = with_command(run).replace("[A]", categories)
        return text.replace("{mode: none, authorities: []}", self.APPROVED)

    @pytest.mark.parametrize("run", ["{{run}}", "{{ run }}"])
    @pytest.mark.parametrize("categories", ["[B]", "[C]", "[D]", "[B, C, D]"])
    def test_a_whole_command(self, categories, run):
        (_, command, *_) = rule_of(self.rule(categories, run)).actions

        assert command.of_message

    @pytest.mark.parametrize("categories", ["[A]", "[A, B]", "[B, C, D, A]"])
    def test_not_for_category_a(self, categories):
        found = refusal(self.rule(categories))

        assert (found.code, found.underlined) == ("law-run-category", "'{{run}}'")

    def test_not_for_any_category(self):
        text = self.rule("[B]").replace("  category_in: [B]\n", "")

        assert refusal(text).code == "law-run-category"

    def test_an_unapproved_one_is_held(self):
        assert doubt(with_command("{{run}}").replace("[A]", "[B]")).code == "law-approval-needed"

    def test_a_file_event_brings_none(self):
        text = RULE.replace("bus_input", "fs_event").replace(", command_types: [exec]", "")
        text = text.replace("  category_in: [A]\n", "").replace('"npm run lint"', '"{{run}}"')
        text = text.replace("  approval: {mode: none, authorities: []}\n", "").replace(
            "msg_id", "path"
        )
        found = refusal(text)

        assert (found.code, found.underlined) == ("law-interpolation", '"{{run}}"')
