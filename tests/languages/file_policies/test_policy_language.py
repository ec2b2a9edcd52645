"""The language: which files are its own, what a book of them has, what it can start."""

import pytest
from policy_texts import API, FORMAT, PAIRING, README, policy_text
from policy_world import book_of, rule_file

from bylaw.languages import context, file_policies
from bylaw.languages.base import Language, Launch, LaunchKind, RuleFile, VisitOrder
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Kind, Verdict


def codes(*files):
    return [(one.code, one.source.path) for one in file_policies.load(files).diagnostics]


def ids(*files):
    return {rule.id for rule in file_policies.load(files).groups[0].rules}


def test_it_is_a_language():
    assert isinstance(file_policies, Language)


class TestDetection:
    @pytest.mark.parametrize("text", [README, PAIRING, API, FORMAT])
    def test_policies(self, text):
        assert file_policies.detect(SourceFile("p.md", text))
        assert not context.detect(SourceFile("p.md", text))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "# Title\n\ntrigger: x\n",
            "---\nname: skill\ndescription: trigger\n---\ntrigger: x\n",
            "---\ntitle: x\n---\nset: [a]\n",
            "[[MODULE]]\nid: x\n[[/MODULE]]\n",
            "---\ntitle: x\ncreated: 2024-01-01\n---\nA note.\n",
            "---\ncreated: 2024-01-01\n---\nA note.\n",
            "---\nname: x\n'action': buy\ntags: [a]\n---\nA note.\n",
            "---\nset: chess\nauthor: x\n---\n",
            "---\ninstructions: read it\nmodel: x\n---\n",
        ],
    )
    def test_others(self, text):
        assert not file_policies.detect(SourceFile("p.md", text))

    @pytest.mark.parametrize(
        "text",
        [
            "---\ntrigger: **/*.py\n---\nx",
            "---\ntrigger: x\n",
            "\ufeff---\r\n'pair' : {}\r\n---\r\n",
            "---\nname: x\ninstructions: y\n---\n",
            "---\ncreated: [a\n---\nx",
            "---\ncreated: a\ncompareto: base\n---\nx",
            "---\ncreated: a\nactoin: {command: ls}\n---\n",
            "---\ntrigger: a\ndescription: more\n---\nx",
        ],
    )
    def test_broken_ones_are_policies_all_the_same(self, text):
        source = SourceFile("p.md", text)
        assert file_policies.detect(source)
        assert codes(RuleFile(source, "")) != []


class TestLoading:
    """DW-110"""

    def test_one_broken_file_spoils_no_other(self):
        files = [rule_file("a", README), rule_file("b", "---\ntriger: x\n---\n")]
        assert set(codes(*files)) == {
            ("policy-unknown-key", ".deepwork/policies/b.md"),
            ("policy-no-body", ".deepwork/policies/b.md"),
        }
        assert ids(*files) == {"a"}

    def test_what_a_broken_file_means(self):
        broken = file_policies.when_broken
        assert (broken.verdict, broken.once) == (Verdict.WARN, True)
        assert broken.kinds == (Kind.AGENT_STOP,)
        (group,) = file_policies.load([]).groups
        assert (group.name, group.visit, group.rules) == (
            broken.group,
            VisitOrder.FILE_POLICIES,
            (),
        )

    def test_one_identifier_in_two_folders(self):
        one = RuleFile(SourceFile("a/p.md", README), "")
        two = RuleFile(SourceFile("b/p.md", PAIRING), "")
        assert codes(one, two) == [
            ("policy-duplicate-id", "a/p.md"),
            ("policy-duplicate-id", "b/p.md"),
        ]
        assert ids(one, two, rule_file("c", API)) == {"c"}

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (("a", "trigger: x\nname: Same"), ("b", "trigger: x\nname: ✓ same")),
            (("a", "trigger: x"), ("b", "trigger: x\nname: A")),
            (("a", "trigger: x\nname: B"), ("b", "trigger: x")),
            (("A", "trigger: x"), ("a", "trigger: x")),
        ],
    )
    def test_two_that_answer_to_one_promise_are_doubted(self, first, second):
        files = [rule_file(name, policy_text(keys)) for name, keys in (first, second)]
        assert [code for code, _ in codes(*files)] == ["policy-same-title"]
        assert ids(*files) == {first[0], second[0]}

    def test_rules_say_where_they_stand(self):
        (group,) = book_of(readme_accuracy=README).groups
        for rule in group.rules:
            assert rule.uid == "policies:.deepwork/policies/readme-accuracy.md#readme-accuracy"
            assert (rule.origin.line, rule.origin.last_line) == (1, 8)
            assert rule.origin.digest == "digest of readme-accuracy"
            assert rule.about == {
                "title": "README Accuracy",
                "mode": "trigger",
                "compare_to": "base",
            }


class TestNotes:
    """What was found faultless is not checked again."""

    def again(self, file, path=""):
        (note,) = file_policies.load([file]).notes.values()
        source = SourceFile(path or file.path, file.source.text)
        return RuleFile(source, file.digest, known=note)

    @pytest.mark.parametrize("text", [README, PAIRING, API, FORMAT, policy_text("created: x")])
    def test_a_noted_policy_is_the_same(self, text):
        file = rule_file("p", text)
        anew, known = (file_policies.load([one]) for one in (file, self.again(file)))
        assert [repr_of(rule) for rule in anew.groups[0].rules] == [
            repr_of(rule) for rule in known.groups[0].rules
        ]
        assert anew.notes == known.notes

    @pytest.mark.parametrize("keys", ["trigger: x", "trigger: x\nname: p"])
    def test_a_file_that_was_renamed_has_its_new_name(self, keys):
        file = rule_file("p", policy_text(keys))
        (first, *_) = file_policies.load([self.again(file, "other/q.md")]).groups[0].rules
        assert (first.id, first.about["title"]) == ("q", "p" if "name" in keys else "q")

    def test_a_name_is_checked_all_the_same(self):
        known = self.again(rule_file("p", README), "a:b.md")
        assert codes(known) == [("policy-identifier", "a:b.md")]

    def test_what_is_doubted_is_not_noted(self):
        doubtful = rule_file("p", policy_text("trigger: x", "{expected_files}"))
        assert file_policies.load([doubtful]).notes == {}

    def test_a_note_of_somebody_else_is_none(self):
        file = RuleFile(SourceFile("p.md", README), "", known=b"rubbish")
        assert ids(file) == {"p"}


def repr_of(rule):
    """All of a rule that is data."""
    policy = rule.guard.judge.policy
    return (rule.uid, rule.origin, rule.on, rule.needs, rule.rank, rule.about, policy)


class TestWhatItCanStart:
    def test_every_command_once(self):
        book = book_of(readme=README, format=FORMAT)
        uid = "policies:.deepwork/policies/format.md#format"
        assert file_policies.starts(book, ()) == [
            Launch(LaunchKind.PROGRAM, "ruff format {file}", uid)
        ]

    def test_prompts_start_nothing(self):
        assert file_policies.starts(book_of(readme=README, pairing=PAIRING), ()) == []
