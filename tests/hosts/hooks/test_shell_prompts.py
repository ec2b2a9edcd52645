"""What waits for what is typed is refused in Codex CLI, which types without telling a hook."""

import json

import pytest
from called_hooks import Repository

from bylaw.hosts.hooks.protect.shell_prompts import waiting_program
from bylaw.hosts.hooks.protect.shell_state import ShellStart

WAIT = {
    "bash": "bash",
    "/bin/sh": "sh",
    "bash -i": "bash",
    "bash -l": "bash",
    "bash --norc --rcfile x": "bash",
    "bash -o pipefail": "bash",
    "bash -euo pipefail": "bash",
    "bash -s x": "bash",
    "bash -": "bash",
    "bash /dev/stdin": "bash",
    "bash < /dev/tty": "bash",
    "exec bash": "bash",
    "env A=1 bash": "bash",
    "A=1 bash": "bash",
    "sudo -u bob bash": "bash",
    "sudo -i": "sudo",
    "su bob": "su",
    "timeout 100 bash": "bash",
    "flock x bash": "bash",
    "script x": "script",
    "ls; bash": "bash",
    "cd x && bash": "bash",
    "cat | bash": "bash",
    "cat - | tee x | sh": "sh",
    "bash -c 'python3'": "python3",
    "bash -lc bash": "bash",
    "bash -ce bash": "bash",
    "bash -c -o errexit bash": "bash",
    "bash -co errexit python3": "python3",
    "su bob -c bash": "bash",
    "eval bash": "bash",
    "echo $(bash)": "bash",
    "X=bash; $X": "bash",
    "python3": "python3",
    "python3 -E": "python3",
    "python3 -i x.py": "python3",
    "python3 -m code": "python3",
    "python3 -": "python3",
    "uv run python": "python",
    "node": "node",
    "node -i": "node",
    "deno repl": "deno",
    "perl": "perl",
    "ipython": "ipython",
    "vim x": "vim",
    "ed x": "ed",
    "nano x": "nano",
    "tcsh": "tcsh",
    "tmux": "tmux",
    "tmux -L x new -s y": "tmux",
    "tmux new-session htop": "tmux",
    "tmux attach -t x": "tmux",
    "screen": "screen",
    "screen -r x": "screen",
    "gdb ./a": "gdb",
    "gdb -ex run ./a": "gdb",
    "lldb": "lldb",
    "lldb -o run ./a": "lldb",
    "psql": "psql",
    "psql -hlocalhost -U me data": "psql",
    "mysql": "mysql",
    "mysql -u root -psecret data": "mysql",
    "mariadb data": "mariadb",
    "sqlite3": "sqlite3",
    "sqlite3 x.db": "sqlite3",
    "sqlite3 -header -separator , x.db": "sqlite3",
    "ssh host": "ssh",
    "ssh -i key -p 22 me@host": "ssh",
    "ssh -t host bash": "bash",
    "ssh host 'cd x && sh'": "sh",
    "ssh host cd x '&&' sh": "sh",
    "sftp host": "sftp",
    "mosh host": "mosh",
    "docker run -it x bash": "bash",
    "docker run --rm -ti -v .:/w -w /w --name y x:1 sh": "sh",
    "docker run --interactive x python3": "python3",
    "docker run -it ubuntu": "docker",
    "docker exec -it c sh": "sh",
    "docker exec -it -u root c env A=1 bash": "bash",
    "docker container exec -i c bash": "bash",
    "docker attach c": "docker",
    "docker compose exec web bash": "bash",
    "docker compose -f x.yml run --rm web sh": "sh",
    "docker-compose exec web sh": "sh",
    "podman run -it x sh": "sh",
    "sudo docker exec -it c sh": "sh",
    "kubectl exec -it p -- sh": "sh",
    "kubectl -n x exec p -c y -it -- /bin/bash": "bash",
    "kubectl exec -it p sh": "sh",
    "kubectl run -it x --image=y": "kubectl",
    "adb shell": "adb",
    "vagrant ssh": "vagrant",
}
DO = [
    "",
    "ls",
    "bash -c ls",
    "bash -lc 'ls -l'",
    "bash x.sh",
    "bash -e x.sh a b",
    "bash x.sh -s y",
    "bash -c -o errexit ls",
    "bash -co errexit ls",
    "su bob -c ls",
    "bash --version",
    "bash < x.sh",
    "bash <<'END'\nls\nEND",
    "bash <<< ls",
    "echo ls | bash",
    "cat x.sh | bash",
    "curl -s x | sh",
    "source x.sh",
    "command -v bash",
    "which python3",
    "sudo apt install python3 bash",
    "python3 x.py",
    "python3 -V",
    "python3 --version",
    "python3 -c 'print(1)'",
    "python3 -m pytest -q",
    "python3 -Im pip list",
    "python3 - <<'END'\nprint(1)\nEND",
    "printf x | python3 -",
    "uv add node",
    "npm run node",
    "node x.js",
    "node -e 1",
    "node --test",
    "perl -pe s/a/b/ x",
    "php -r 'echo 1;'",
    "vim -Es +q x",
    "ed -s x < y",
    "git log | cat",
    "script -c ls x",
    "grep bash x",
    "sudo -u bob ls",
    "cat > x <<'END'\nbash\nEND",
    "tcsh -c ls",
    "tmux ls",
    "tmux -V",
    "tmux new -d 'cmd'",
    "tmux new-session -ds x bash",
    "tmux send-keys -t x ls",
    "tmux kill-server",
    "screen -ls",
    "screen -dmS x make",
    "screen -S x -X quit",
    "gdb -batch -ex run ./a",
    "gdb --batch -x cmds ./a",
    "gdb -ex run -ex quit ./a",
    "gdb --version",
    "lldb -b -o run ./a",
    "psql -c 'select 1'",
    "psql -h localhost -Atc 'select 1' data",
    "psql -f x.sql data",
    "psql -l",
    "psql data < x.sql",
    "echo 'select 1' | psql data",
    "mysql -e 'select 1'",
    "mysql -u root -psecret -Ne 'select 1' data",
    "mysql data < x.sql",
    "sqlite3 x.db 'select 1'",
    "sqlite3 -header x.db .tables",
    "sqlite3 x.db < x.sql",
    "sqlite3 --version",
    "ssh host ls",
    "ssh -p 22 host 'ls | sort'",
    "ssh -N -L 1:x:2 host",
    "ssh -T git@github.com",
    "ssh host bash -s < x.sh",
    "echo ls | ssh host",
    "ssh -V",
    "sftp -b x host",
    "docker run x ls",
    "docker run -it x ls",
    "docker run -it x bash -c ls",
    "docker run --rm x",
    "docker run -dit x bash",
    "docker run -i x sh < x.sh",
    "docker exec c ls",
    "docker exec -it c ls",
    "docker ps",
    "docker build -t x .",
    "docker compose up -d",
    "docker compose exec -T web ls",
    "docker compose exec web ls",
    "kubectl get pods",
    "kubectl exec p -- ls",
    "kubectl exec -it p -- ls",
    "kubectl run x --image=y",
    "kubectl logs -f p",
    "adb shell ls",
    "adb devices",
    "vagrant ssh -c ls",
    "vagrant up",
    "command -v tmux",
]


@pytest.fixture
def start(tmp_path):
    return ShellStart(str(tmp_path), str(tmp_path), {})


@pytest.mark.parametrize(("text", "program"), WAIT.items())
def test_who_waits(start, text, program):
    assert waiting_program(text, start) == program


@pytest.mark.parametrize("text", DO)
def test_who_has_something_to_do(start, text):
    assert waiting_program(text, start) == ""


def test_too_many_starters_are_not_followed(start):
    assert waiting_program("env " * 5_000 + "bash", start) == "env"


@pytest.fixture
def repository(tmp_path):
    """No rule forbids anything."""
    return Repository(tmp_path / "root", tmp_path / "home")


def call(repository, host, event, tool, command):
    about = {"session_id": "s", "cwd": str(repository.root), "tool_name": tool}
    payload = {**about, "tool_input": {"command": command}, "tool_use_id": "c1"}
    return repository.raw(host, event, data=json.dumps(payload).encode())


@pytest.mark.parametrize("tool", ["Bash", "exec_command"])
def test_codex_is_refused_and_told_what_to_do_instead(repository, tool):
    called = call(repository, "codex", "PreToolUse", tool, "bash")

    assert called.code == 2
    assert called.own["permissionDecision"] == "deny"
    assert "`bash` would wait for typed input" in called.own["permissionDecisionReason"]
    assert "`bash -c '…'`" in called.own["permissionDecisionReason"]


def test_codex_may_run_a_command(repository):
    assert call(repository, "codex", "PreToolUse", "Bash", "bash -lc ls").stdout == b""


def test_subagents_that_are_left_alone_are_refused_too(repository):
    repository.write("bylaw.toml", "[hooks]\nsubagents = false\n")
    payload = {"session_id": "s", "agent_id": "a", "tool_name": "Bash", "cwd": str(repository.root)}
    data = json.dumps({**payload, "tool_input": {"command": "sh"}}).encode()

    assert repository.raw("codex", "PreToolUse", data=data).code == 2


def test_others_type_nothing_unheard(repository):
    assert call(repository, "claude", "PreToolUse", "Bash", "bash").code == 0
