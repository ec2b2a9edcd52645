"""Where a command runs and what it sees of us: its folder, its variables, open files, rights."""

import os
import stat
from pathlib import Path

import pytest
from commanding import PYTHON

from bylaw.runtime.sandbox import client as running
from bylaw.runtime.sandbox.command import COMMAND_PATH
from bylaw.runtime.sandbox.request import Refusal

WHERE = "import json, os; print(json.dumps(os.getcwd()))"
VARIABLES = "import json, os; print(json.dumps(dict(os.environ)))"


class TestFolder:
    """LD-099, LD-100, LD-A21"""

    def test_in_the_root_and_below(self, commands):
        below = commands.root / "a" / "b"
        below.mkdir(parents=True)

        assert commands.told(WHERE) == str(commands.root)
        assert commands.told(WHERE, cwd=f"{commands.root}/a/../a/b/.") == str(below)

    @pytest.mark.parametrize("cwd", ["outside", ".", "root/../outside", "root-evil", "root/link"])
    def test_outside(self, commands, cwd):
        top = commands.root.parent
        (top / "root-evil").mkdir()
        (commands.root / "link").symlink_to(commands.outside)

        assert commands.run("true", cwd=f"{top}/{cwd}").refusal is Refusal.OUTSIDE

    def test_a_link_inside_is_followed(self, commands):
        (commands.root / "real").mkdir()
        (commands.root / "link").symlink_to("real")

        result = commands.python(WHERE, cwd=f"{commands.root}/link")

        assert result.cwd == f"{commands.root}/real"
        assert result.stdout.text.strip() == f'"{commands.root}/real"'

    @pytest.mark.parametrize("cwd", ["", ".", "root", "/no/such/folder", "/etc/passwd", "/\0"])
    def test_no_folder(self, commands, cwd):
        assert commands.run("true", cwd=cwd).refusal is Refusal.NO_FOLDER

    def test_no_roots(self, commands):
        assert commands.run("true", roots=()).refusal is Refusal.OUTSIDE
        assert commands.run("true", roots=("/no/such/folder", "")).refusal is Refusal.OUTSIDE

    def test_a_root_that_leads_out_allows_nothing(self, commands, walled):
        """A folder of the repository was exchanged for a link to somewhere else."""
        link, lib = commands.root / "src", commands.root / "lib"
        link.symlink_to(commands.outside)
        lib.mkdir()
        among = {"roots": (str(link), str(lib)), "top": str(commands.root)}

        assert commands.run("true", cwd=str(link), **among).refusal is Refusal.OUTSIDE
        commands.run("touch", "../src/harm", cwd=str(lib), **among)
        assert (commands.outside / "harm").exists() is not walled

    @pytest.mark.parametrize("other", ["link", "folder", "nothing"])
    def test_a_folder_that_is_exchanged_before_the_start(self, commands, monkeypatch, other):
        work = commands.root / "work"
        work.mkdir()
        (commands.outside / "work").mkdir()
        make = running.supervisor_request

        def exchanged(*given, **more):
            work.rename(commands.root / "moved")
            if other == "link":
                work.symlink_to(commands.outside / "work")
            elif other == "folder":
                work.mkdir()
            return make(*given, **more)

        monkeypatch.setattr(running, "supervisor_request", exchanged)
        result = commands.run("touch", "harm", cwd=str(work))

        assert result.refusal is Refusal.FOLDER_CHANGED
        assert list(commands.root.rglob("harm")) == list(commands.outside.rglob("harm")) == []

    @pytest.mark.parametrize("link", [True, False])
    def test_a_root_that_is_exchanged_before_the_start(self, commands, monkeypatch, walled, link):
        """Bubblewrap would make something else writable."""
        other = commands.root / "other"
        other.mkdir()
        make = running._start_supervisor

        def exchanged(*given):
            other.rename(commands.root / "moved")
            other.symlink_to(commands.outside) if link else other.mkdir()
            return make(*given)

        monkeypatch.setattr(running, "_start_supervisor", exchanged)
        result = commands.run("touch", "ran", roots=(str(commands.root), str(other)))

        assert (commands.root / "ran").exists() is result.ok is not walled


class TestVariables:
    """DW-095, DW-A27"""

    def test_few_of_ours(self, commands, monkeypatch, walled):
        usual = {"HOME": str(commands.root), "LANG": "C.UTF-8", "LC_CTYPE": "C", "TMPDIR": "/tmp"}
        for name in tuple(os.environ):
            monkeypatch.delenv(name)
        secrets = (
            "AWS_SECRET_ACCESS_KEY LD_PRELOAD LD_LIBRARY_PATH PYTHONPATH PYTHONSTARTUP GIT_DIR "
            "GIT_SSH_COMMAND NODE_OPTIONS BASH_ENV ENV IFS SSH_AUTH_SOCK XDG_RUNTIME_DIR"
        )
        for name, value in [*usual.items(), *((name, "x") for name in secrets.split())]:
            monkeypatch.setenv(name, value)

        seen = dict(line.split("=") for line in commands.run("env").stdout.text.splitlines())

        if walled:
            del usual["TMPDIR"]  # there is another one
        assert seen == {"PATH": COMMAND_PATH, **usual}

    def test_those_that_were_asked_for(self, commands, monkeypatch):
        monkeypatch.setenv("MINE", "é=1")
        monkeypatch.delenv("ABSENT", raising=False)

        seen = commands.told(VARIABLES, env=("MINE", "ABSENT", "PATH"))

        assert seen["MINE"] == "é=1"
        assert seen["PATH"] == COMMAND_PATH
        assert "ABSENT" not in seen

    def test_values_stand_on_no_command_line(self, commands, monkeypatch):
        monkeypatch.setenv("TOKEN", "s3cr3t")
        look = (
            "import glob, json\n"
            "found = []\n"
            "for path in glob.glob('/proc/[0-9]*/cmdline'):\n"
            "    try: found.append(open(path, 'rb').read().decode(errors='replace'))\n"
            "    except OSError: pass\n"
            "print(json.dumps([line for line in found if 's3cr' + '3t' in line]))"
        )

        assert commands.told(look, env=("TOKEN",)) == []


class TestOpenFiles:
    def test_none_of_ours(self, commands):
        ours = os.open(__file__, os.O_RDONLY)
        os.set_inheritable(ours, True)
        look = "import json, os; print(json.dumps(sorted(map(int, os.listdir('/proc/self/fd')))))"

        files = commands.told(look)
        os.close(ours)

        assert files[:3] == [0, 1, 2]
        assert len(files) == 4  # listing them is one

    def test_standard_input_is_empty(self, commands):
        result = commands.python("import sys; print(repr(sys.stdin.read()))")

        assert result.stdout.head == b"''\n"

    def test_no_terminal(self, commands):
        result = commands.python("open('/dev/tty')")

        assert result.exit_code == 1

    def test_no_core_files_and_no_endless_files(self, commands):
        look = (
            "import json, resource\n"
            "print(json.dumps([resource.getrlimit(resource.RLIMIT_CORE)[1],\n"
            "  resource.getrlimit(resource.RLIMIT_FSIZE)[1] >= 0]))"
        )

        assert commands.told(look) == [0, True]

    def test_signals_are_as_usual(self, commands):
        lines = commands.run("cat", "/proc/self/status").stdout.text.splitlines()
        said = dict(line.split(":\t") for line in lines if line.startswith("Sig"))

        # Two numbers belong to the C library, and nobody can set them.
        its_own = 0b11 << 31
        assert int(said["SigIgn"], 16) & ~its_own == int(said["SigBlk"], 16) == 0

    def test_the_umask_is_ours(self, commands):
        before = os.umask(0o027)
        commands.run("touch", "file")
        os.umask(before)

        assert stat.S_IMODE((commands.root / "file").stat().st_mode) == 0o640


class TestRights:
    def test_no_program_gives_more(self, commands):
        status = commands.run("cat", "/proc/self/status").stdout.text

        assert "NoNewPrivs:\t1" in status

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user")
    def test_a_set_user_id_bit_is_ignored(self, commands):
        commands.root.chmod(0o755)
        program = commands.root / "as-nobody"
        program.write_bytes(Path("/usr/bin/id").read_bytes())
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)

        assert commands.run(str(program), "-u").stdout.text == "0\n"

    def test_no_capabilities_beyond_ours(self, commands, walled):
        status = commands.run("cat", "/proc/self/status").stdout.text
        (line,) = [line for line in status.splitlines() if line.startswith("CapEff")]

        assert not walled or int(line.split()[1], 16) == 0

    def test_a_program_of_ours_that_is_told_everything(self, commands):
        """What a watcher is told never stands in its own arguments or variables."""
        look = "import os; print(open(f'/proc/{os.getppid()}/cmdline').read().count('unique-word'))"

        assert commands.run(*PYTHON, look, "unique-word").stdout.text == "0\n"
