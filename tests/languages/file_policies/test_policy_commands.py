"""Commands of policies: words, placeholders, runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_texts import policy, refusal, refusals

from bylaw.languages.file_policies.key_readers import command_runs, script_of
from bylaw.languages.file_policies.syntax import RunFor


def action(command, run_for="each_match"):
    keys = f"trigger: x\naction:\n  command: >-\n    {command}\n  run_for: {run_for}"
    return policy(keys, "").action


def argv(command, *files, run_for="each_match"):
    return [one.argv for one in command_runs(action(command, run_for), files)]


class TestReading:
    """DW-018, DW-090, DW-092, DW-A21"""

    def test_run_for(self):
        assert policy("trigger: x\naction: {command: 'fmt {file}'}").action.run_for == "each_match"
        assert action("fmt {files}", "all_matches").run_for is RunFor.ALL_MATCHES
        assert refusals("trigger: x\naction: {command: 'fmt {file}', run_for: first_match}") == [
            ("policy-not-a-choice", "first_match")
        ]

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            ("{}", "policy-missing-key"),
            ("{run_for: each_match}", "policy-missing-key"),
            ("{command: 'fmt {file}', cwd: src}", "policy-unknown-key"),
            ("fmt {file}", "policy-wrong-value"),
            ("{command: 5}", "policy-wrong-value"),
            ("{command: ''}", "policy-command-quotes"),
            ('{command: "fmt \'x {file}"}', "policy-command-quotes"),
        ],
    )
    def test_what_is_no_action(self, value, code):
        assert refusal(f"trigger: x\naction: {value}").code == code

    @pytest.mark.parametrize(
        "program",
        [
            "~/tidy.sh",
            "~",
            "../tidy.sh",
            "scripts/../../tidy.sh",
            "{repo_root}/../tidy.sh",
            "{repo_root}",
            "./",
            "scripts/",
            ".",
            "LANG=C",
            "cd",
            "source",
        ],
    )
    def test_what_never_starts(self, program):
        keys = f"trigger: x\naction: {{command: '{program} {{file}}'}}"
        assert refusals(keys) == [("policy-program", program)]

    @pytest.mark.parametrize(
        "program",
        [
            "fmt",
            "/usr/bin/../bin/fmt",
            "./tidy.sh",
            "scripts/tidy.sh",
            "{repo_root}/x",
            "..x",
        ],
    )
    def test_what_may_start(self, program):
        assert action(f"{program} {{file}}").words[0] == program

    @pytest.mark.parametrize(
        ("program", "script"),
        [
            ("fmt", ""),
            ("/bin/fmt", ""),
            ("./tidy.sh", "tidy.sh"),
            ("scripts//tidy.sh", "scripts/tidy.sh"),
            ("{repo_root}/scripts/tidy.sh", "scripts/tidy.sh"),
        ],
    )
    def test_a_script_of_the_repository(self, program, script):
        assert script_of(action(f"{program} {{file}}").words) == script

    @pytest.mark.parametrize(
        ("command", "underlined"),
        [
            ("fmt {file} && git add .", "&&"),
            ("fmt {file} > out", ">"),
            ("fmt $HOME {file}", "$"),
            ("fmt $(ls) {file}", "$("),
            ("fmt {file}; rm x", ";"),
            ("cat {file} | fmt", "|"),
        ],
    )
    def test_what_only_a_shell_understands(self, command, underlined):
        keys = f"trigger: x\naction: {{command: '{command}'}}"
        assert refusals(keys) == [("policy-shell-syntax", underlined)]

    @pytest.mark.parametrize(
        ("command", "run_for", "underlined"),
        [
            ("fmt {nosuch} {file}", "each_match", "{nosuch}"),
            ("fmt {files}", "each_match", "{files}"),
            ("fmt {file}", "all_matches", "{file}"),
            ("fmt --in={files}", "all_matches", "--in={files}"),
            ("{file} --check", "each_match", "{file}"),
            ("fmt", "each_match", "'fmt'"),
            ("fmt {repo_root}", "all_matches", "'fmt {repo_root}'"),
            ("fmt {Trigger_file} {file}", "each_match", "{Trigger_file}"),
        ],
    )
    def test_placeholders(self, command, run_for, underlined):
        keys = f"trigger: x\naction: {{command: '{command}', run_for: {run_for}}}"
        found = refusal(keys)
        assert found.code == "policy-placeholder"
        assert found.underlined.strip("'") == underlined.strip("'")
        assert found.help

    def test_other_braces_are_text(self):
        assert argv("""awk '{print $1}' {} {a,b} '{"a": 1}' {file}""", "x") == [
            ("awk", "{print $1}", "{}", "{a,b}", '{"a": 1}', "x")
        ]


class TestRuns:
    """DW-090, DW-091, DW-093, DW-A21, DW-A29"""

    def test_each_file_has_a_run(self):
        made = list(command_runs(action("ruff format {file}"), ["src/a.py", "src/b.py"]))
        assert made == [
            (("ruff", "format", "src/a.py"), ("src/a.py",), ()),
            (("ruff", "format", "src/b.py"), ("src/b.py",), ()),
        ]

    def test_all_files_have_one(self):
        made = list(command_runs(action("fmt {files} --end", "all_matches"), ["a", "b"]))
        assert made == [(("fmt", "a", "b", "--end"), ("a", "b"), ())]
        assert list(command_runs(action("fmt {files}", "all_matches"), [])) == []

    def test_a_file_name_is_one_argument_whatever_it_looks_like(self):
        for name in ("src/a b;rm -rf x.py", "$(reboot)", "a'b\"c", "{repo_root}", "{file}", "a\nb"):
            assert argv("fmt {file} '{file}'", name) == [("fmt", name, name)]
            assert argv("fmt {files}", name, run_for="all_matches") == [("fmt", name)]

    def test_a_file_name_is_no_option(self):
        assert argv("fmt {file} --in={file} x{file}", "-rf") == [
            ("fmt", "./-rf", "--in=-rf", "x-rf")
        ]
        assert argv("fmt {files}", "-rf", run_for="all_matches") == [("fmt", "./-rf")]

    def test_the_root_is_where_commands_run(self):
        assert argv("{repo_root}/fmt --config {repo_root}/x.toml {file}", "a") == [
            ("./fmt", "--config", "./x.toml", "a")
        ]

    def test_where_the_path_of_the_root_comes_is_told_by_place(self):
        """A file may be called as the placeholder is; the program is none of these places."""
        command = "{repo_root}/fmt --in={file}:{repo_root}:{repo_root}/x {repo_root}"
        [made] = command_runs(action(command), ["{repo_root}"])
        assert made.argv == ("./fmt", "--in={repo_root}:.:./x", ".")
        assert made.root_at == ((1, 17), (1, 19), (2, 0))

    @given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
    def test_any_name_arrives_as_it_is(self, name):
        [(_, given_)] = argv("fmt {file}", name)
        assert given_ == (f"./{name}" if name.startswith("-") else name)
