"""What bubblewrap holds back, and what without it is only a fence: the tests say which is which."""

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
from commanding import PYTHON

from bylaw.runtime.sandbox import client
from bylaw.runtime.sandbox.client import detect_isolation
from bylaw.runtime.sandbox.request import Refusal
from bylaw.runtime.sandbox.result import IsolationKind


@pytest.fixture
def only_walled(walled):
    if not walled:
        pytest.skip("no bubblewrap here: a command can do what the user can")


class TestWriting:
    def test_in_the_root(self, commands):
        assert commands.run("touch", "file").ok
        assert (commands.root / "file").exists()

    def test_outside_is_a_wall_with_bubblewrap_and_open_without(self, commands, walled):
        result = commands.run("touch", str(commands.outside / "harm"))

        assert (commands.outside / "harm").exists() is not walled
        assert result.ok is not walled

    def test_through_a_link(self, commands, walled):
        (commands.root / "link").symlink_to(commands.outside)
        commands.run("touch", "link/harm")

        assert (commands.outside / "harm").exists() is not walled

    def test_through_a_hard_link(self, commands, walled):
        (commands.outside / "file").write_text("ours")
        commands.run("ln", str(commands.outside / "file"), "file")
        commands.run("sh", "-c", "echo harm > file")

        assert ((commands.outside / "file").read_text() == "ours") is walled

    @pytest.mark.usefixtures("only_walled")
    def test_the_rest_of_the_system(self, commands):
        places = [
            f"{folder}/bylaw-harm"
            for folder in ("/", "/etc", "/usr/bin", "/var", "/home", "/sys", os.environ["HOME"])
            if Path(folder).is_dir()
        ]
        for place in places:
            assert commands.run("touch", place).exit_code == 1
            assert not Path(place).exists()

    @pytest.mark.usefixtures("only_walled")
    @pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/run"])
    def test_temporary_files_are_its_own(self, commands, folder):
        name = f"{folder}/bylaw-{os.getpid()}-is-its-own"
        result = commands.run("sh", "-c", f"touch {name} && ls {folder}")

        assert name.rpartition("/")[2] in result.stdout.text
        assert not Path(name).exists()

    @pytest.mark.usefixtures("only_walled")
    def test_the_cache_is_its_own(self, commands, monkeypatch):
        home = commands.outside / "home"
        (home / ".cache").mkdir(parents=True)
        (home / ".cache" / "believed").touch()
        monkeypatch.setenv("HOME", str(home))
        result = commands.run("sh", "-c", "ls $HOME/.cache; touch $HOME/.cache/harm")

        assert (result.stdout.text, result.exit_code) in {("", 0), ("", 1)}
        assert [path.name for path in home.glob(".cache/*")] == ["believed"]


@pytest.mark.usefixtures("only_walled")
class TestTheWallItself:
    def test_it_cannot_be_mounted_anew(self, commands):
        code = (
            "import ctypes\n"
            "libc = ctypes.CDLL(None)\n"
            "remount_bind = 32 | 4096\n"
            "def mount(): return libc.mount(None, b'/', None, remount_bind, None)\n"
            "before = mount()\n"
            "unshared = libc.unshare(0x10000000 | 0x20000)\n"  # a user, and mounts, of its own
            "after = mount()\n"
            "try: open('/etc/bylaw-harm', 'w')\n"
            "except OSError: print(before)\n"
        )

        assert commands.python(code).stdout.text == "-1\n"
        assert not Path("/etc/bylaw-harm").exists()

    @pytest.mark.parametrize(
        "path",
        ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper"],
    )
    def test_settings_of_the_system(self, commands, path):
        """Root without any capability could write some of them."""
        assert commands.python(f"open({path!r}, 'r+')").exit_code == 1

    def test_devices(self, commands):
        names = commands.run("ls", "/dev").stdout.text.split()

        assert "null" in names
        assert not [name for name in names if name.startswith(("sd", "vd", "nvme", "mem", "kmsg"))]

    def test_no_process_of_ours_is_seen(self, commands):
        look = "import json, os; print(json.dumps([n for n in os.listdir('/proc') if n.isdigit()]))"

        assert commands.told(look) == ["1", "2"]

    def test_nor_its_variables(self, commands, monkeypatch):
        monkeypatch.setenv("TOKEN", "s3cr3t")
        result = commands.run("sh", "-c", "cat /proc/*/environ | tr '\\0' '\\n'")

        assert "PATH=" in result.stdout.text
        assert "s3cr3t" not in result.stdout.text

    def test_sockets_of_services(self, commands, tmp_path_factory, monkeypatch):
        path = tmp_path_factory.mktemp("s") / "socket"
        with socket.socket(socket.AF_UNIX) as service:
            monkeypatch.chdir(path.parent)  # its path may be too long for a socket
            service.bind("socket")
            service.listen()
            code = f"import os, socket; os.chdir({str(path.parent)!r}); socket.socket(1).connect('socket')"

            assert commands.python(code).exit_code == 1


def answer(service):
    connection, _ = service.accept()
    connection.close()


class TestWhatIsNoWall:
    """The network and whatever the user can read: builds and tests need both."""

    def test_reading(self, commands):
        assert commands.run("cat", "/etc/passwd").stdout.text.startswith("root:")

    def test_the_network(self, commands):
        with socket.create_server(("127.0.0.1", 0)) as service:
            thread = threading.Thread(target=answer, args=(service,))
            thread.start()
            port = service.getsockname()[1]
            result = commands.python(
                f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
            )
            thread.join()

        assert result.ok, result.stderr.text

    def test_signals_to_us_without_bubblewrap(self, commands, walled):
        result = commands.python(f"import os; os.kill({os.getpid()}, 0)")

        assert result.ok is not walled


class TestWhetherItWorks:
    def test_a_program_that_is_not_there(self, monkeypatch):
        monkeypatch.setattr(client, "BUBBLEWRAP", "no-such-program")

        assert detect_isolation().as_json() == {"by": "none", "why": "bubblewrap is not installed"}

    def test_a_program_that_does_not_work(self, commands, monkeypatch):
        monkeypatch.setattr(client, "BUBBLEWRAP", "false")
        result = commands.run("true")

        assert result.ok
        assert result.isolation.by is IsolationKind.NOTHING
        assert result.isolation.why == "bubblewrap does not work here: no answer"

    def test_a_program_that_says_why(self, monkeypatch):
        monkeypatch.setattr(client, "BUBBLEWRAP", "ls")

        assert detect_isolation().why.startswith("bubblewrap does not work here: ")
        assert "--unshare" in detect_isolation().why

    @pytest.mark.usefixtures("only_walled")
    def test_one_that_gives_no_answer_is_not_done_without(self, commands, monkeypatch):
        """A machine under load opens no wall: the command is refused, and may be tried again."""
        monkeypatch.setattr(client, "BUBBLEWRAP", shutil.which("bwrap"))  # nobody knows it yet
        with monkeypatch.context() as no_time:
            no_time.setattr(client, "PROBE_SECONDS", 0)
            refused = commands.run("touch", str(commands.outside / "harm"))
        harmed = (commands.outside / "harm").exists()
        later = commands.run("true")

        assert not harmed
        assert refused.refusal is Refusal.NOT_STARTED
        assert refused.why == "the command could not be started: bubblewrap did not answer"
        assert later.isolation.by is IsolationKind.BUBBLEWRAP

    def test_one_that_says_something_and_hangs_is_not_done_without(self, commands, monkeypatch):
        monkeypatch.setattr(client, "PROBE_SECONDS", 0.5)
        hanging = commands.program("hanging", "#!/bin/sh\necho one moment >&2\nexec cat\n")
        monkeypatch.setattr(client, "BUBBLEWRAP", hanging)
        result = commands.run("touch", "harm")

        assert result.refusal is Refusal.NOT_STARTED
        assert commands.files() == ["hanging"]

    @pytest.mark.usefixtures("only_walled")
    def test_one_that_worked_once_is_not_done_without(self, commands, monkeypatch):
        """A command that could be isolated does not run because somebody broke that."""
        detect_isolation()
        monkeypatch.setattr(
            client,
            "bubblewrap_arguments",
            lambda program, roots: [b"/bin/sh", b"-c", b"echo no >&2"],
        )
        result = commands.run("touch", "harm")

        assert result.refusal is Refusal.NOT_STARTED
        assert result.why == "the command could not be started: no"
        assert not (commands.root / "harm").exists()


def test_a_repository_in_a_place_that_is_hidden_otherwise(commands, walled):
    """The root of these tests lies below `/tmp`, and so may the interpreter."""
    result = commands.run(*PYTHON, "import sys; print(sys.prefix)")

    assert result.ok
    assert result.isolation.by is (IsolationKind.BUBBLEWRAP if walled else IsolationKind.NOTHING)
