"""`bylaw verify` and `bylaw journal purge` as processes: what they say, ask and answer."""

import json
import os
import sqlite3
from contextlib import closing

import pytest
from on_terminal import call, on_terminal

import bylaw

DEFAULT = ".bylaw/state/journal.db"
RULES = "deny tool shell because no\non prompt say hello\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n')
    (folder / "a.lines").write_text(RULES)
    return folder


@pytest.fixture
def recorded(root):
    """Five records of two sessions."""
    with bylaw.Engine(bylaw.load(), journal=True) as engine:
        engine.submit({"kind": "prompt", "text": "alpha", "session": "one"})
        engine.submit({"kind": "tool.before", "tool": "shell", "session": "two"})
    return root


def change(statement):
    with closing(sqlite3.connect(DEFAULT)) as other:
        other.execute(statement)
        other.commit()


def as_json(done):
    return json.loads(done.stdout)


class TestVerify:
    def test_a_whole_journal(self, recorded):
        done = call(recorded, "verify", "--decisions")
        lines = done.stdout.splitlines()

        assert (done.returncode, done.stderr) == (0, "")
        assert lines[:3] == [
            ".bylaw/state/journal.db: 5 records of 2 sessions",
            "sessions rebuilt: 2 of 2",
            "decisions replayed: 5 identical",
        ]
        assert lines[3].startswith("head: 5 ")
        assert lines[4:] == ["anchor: matches record 5", "no problems found"]

    def test_for_programs(self, recorded):
        done = call(recorded, "verify", "--decisions", "--format", "json")
        found = as_json(done)

        assert done.returncode == 0
        assert found["ok"] is True
        assert (found["records"], found["sessions"], found["folded"]) == (5, 2, 2)
        assert found["head"]["seq"] == found["anchor"]["seq"] == 5
        assert found["anchor"]["fits"] is True
        assert found["decisions"] == {"same": 5, "unchecked": []}
        assert (found["wrong"], found["findings"]) == (0, [])

    def test_what_is_wrong_is_named(self, recorded):
        change("UPDATE payloads SET event = x'00' WHERE seq = 4")
        done = call(recorded, "verify")

        assert done.returncode == 1
        assert done.stdout.splitlines()[-2:] == [
            "problem: record 4 of session `two`: its payload does not match the digest of the record",
            "1 problem found",
        ]
        finding = as_json(call(recorded, "verify", "--format", "json"))["findings"][0]
        assert finding == {
            "what": "payload",
            "record": 4,
            "session": "two",
            "text": "its payload does not match the digest of the record",
        }

    def test_a_cut_end(self, recorded):
        change("DELETE FROM records WHERE seq = 5")
        change("DELETE FROM payloads WHERE seq = 5")
        done = call(recorded, "verify")

        assert done.returncode == 1
        assert "record 5 was written, but the journal ends at 4" in done.stdout

    def test_another_decision(self, recorded):
        change("UPDATE sources SET text = replace(text, 'deny tool shell', 'deny tool shall')")
        done = call(recorded, "verify", "--decisions")

        assert done.returncode == 1
        assert "problem: the text stored as " in done.stdout
        assert "not replayed, its rules are not stored: 5 records (1 to 5)" in done.stdout

    def test_a_file_that_is_no_journal(self, recorded):
        (recorded / "no.db").write_text("this is no journal, it is a text that is long enough")
        done = call(recorded, "verify", "--journal", "no.db")

        assert done.returncode == 1
        assert "problem: the journal `no.db` is damaged" in done.stdout

    def test_no_journal(self, root):
        done = call(root, "verify")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: journal `.bylaw/state/journal.db` not found")

    def test_names_of_others_cannot_speak_to_the_terminal(self, root):
        with bylaw.Engine(bylaw.load(), journal=True) as engine:
            engine.submit({"kind": "prompt", "session": "\x1b[2J"})
        change("UPDATE payloads SET event = x'00' WHERE seq = 1")
        done = call(root, "verify")

        assert "\x1b" not in done.stdout
        assert r"session `\u{1b}[2J`" in done.stdout


class TestPurge:
    def erased(self, root):
        return as_json(call(root, "verify", "--format", "json"))["erased"]["count"]

    def test_a_dry_run(self, recorded):
        done = call(recorded, "journal", "purge", "--all", "--dry-run")

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "would erase 5 payloads of 2 sessions\n"
        assert self.erased(recorded) == 0

    @pytest.mark.parametrize(
        ("words", "erased"),
        [
            (["--all"], 5),
            (["--session", "one"], 3),
            (["--before", "2020-01-01"], 0),
            (["--older", "0"], 5),
            (["--older", "30"], 0),
        ],
    )
    def test_what_is_erased(self, recorded, words, erased):
        done = call(recorded, "journal", "purge", *words, "--yes", "--format", "json")

        assert (done.returncode, done.stderr) == (0, "")
        assert as_json(done)["payloads"] == erased
        assert self.erased(recorded) == erased
        assert call(recorded, "verify").returncode == 0

    @pytest.mark.parametrize("answer", [b"y\n", b"n\n"])
    def test_a_person_is_asked(self, recorded, answer):
        words = ["journal", "purge", "--session", "one"]
        shown, code = on_terminal(recorded, words, answer)

        assert "Erase 3 payloads of 1 session permanently? [y/N] " in shown
        yes = answer == b"y\n"
        assert code == (0 if yes else 1)
        assert self.erased(recorded) == (3 if yes else 0)
        assert (b"alpha" in (recorded / DEFAULT).read_bytes()) is not yes

    def test_nobody_can_be_asked(self, recorded):
        for words in ([], ["--format", "json"]):
            done = call(recorded, "journal", "purge", "--all", *words)

            assert (done.returncode, done.stdout) == (1, "")
            assert "--yes" in done.stderr
        assert self.erased(recorded) == 0

    def test_an_agent_is_refused(self, recorded, monkeypatch):
        monkeypatch.setenv("CLAUDECODE", "1")
        done = call(recorded, "journal", "purge", "--all", "--yes")

        assert done.returncode == 1
        assert "erasing records needs a person" in done.stderr
        assert self.erased(recorded) == 0

    def test_without_saying_what(self, recorded):
        done = call(recorded, "journal", "purge", "--yes")
        assert done.returncode == 1
        assert "set `keep_days` under" in done.stderr

        (recorded / "bylaw.toml").write_text("[journal]\nkeep_days = 1\n")
        done = call(recorded, "journal", "purge", "--yes")
        assert (done.returncode, done.stdout) == (0, "nothing to erase\n")

    def test_two_ways_to_say_what(self, recorded):
        done = call(recorded, "journal", "purge", "--all", "--older", "3")

        assert done.returncode == 2
        assert "use only one of" in done.stderr

    def test_an_unknown_session(self, recorded):
        done = call(recorded, "journal", "purge", "--session", "onne", "--yes")

        assert done.returncode == 1
        assert "unknown session `onne` in the journal" in done.stderr

    def test_no_journal_is_made(self, root):
        done = call(root, "journal", "purge", "--all", "--yes")

        assert done.returncode == 1
        assert not os.path.lexists(DEFAULT)

    def test_rules_that_do_not_load_keep_nobody_from_erasing(self, recorded):
        (recorded / "a.lines").write_text("core\nthis is no rule\n")
        assert call(recorded, "journal", "purge", "--all", "--yes").returncode == 0
        assert self.erased(recorded) == 5
