"""What Codex itself calls our hooks: `bylaw doctor` works the same out without asking it."""

import json
import subprocess

import pytest

from bylaw.report.doctor_clients import codex_hash

only_codex = pytest.mark.parametrize("stand", ["codex"], indirect=True)


def hooks_listed(stand):
    """What Codex tells of hooks in a repository."""
    asked = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(stand.root)]}},
    ]
    with subprocess.Popen(
        ["codex", "app-server"],
        cwd=stand.root, env=stand.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        server.stdin.writelines(json.dumps(one) + "\n" for one in asked)
        server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        found = next(one for one in answers if one.get("id") == 2)
        server.kill()
    return found["result"]["data"][0]["hooks"]


@only_codex
def test_a_hook_is_known_by_the_digest_that_we_work_out(stand):
    settings = stand.home / ".codex/config.toml"
    settings.parent.mkdir()
    project = f'[projects."{stand.root}"]\ntrust_level = "trusted"\n'
    settings.write_text(project)
    ours = json.loads((stand.root / ".codex/hooks.json").read_text())["hooks"]
    known = {one["key"]: one["currentHash"] for one in hooks_listed(stand)}

    assert len(known) == len(ours)
    for key, digest in known.items():
        *_, label, group, index = key.split(":")
        event = "".join(word.capitalize() for word in label.split("_"))
        assert digest == codex_hash(label, ours[event][int(group)]["hooks"][int(index)])
    state = "".join(
        f"[hooks.state.{json.dumps(key)}]\ntrusted_hash = {json.dumps(digest)}\n"
        for key, digest in known.items()
    )
    settings.write_text(project + state)
    assert {one["trustStatus"] for one in hooks_listed(stand)} == {"trusted"}
    said = json.loads(stand.bylaw("doctor", "--format", "json").stdout)
    assert [
        one for one in said["findings"] if one["about"] == "codex" and one["level"] != "fine"
    ] == []
