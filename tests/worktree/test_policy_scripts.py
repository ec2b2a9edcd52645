"""A script of the repository as the program of a policy: run by its real path, and only below it."""

import pytest
from stopping import World

from bylaw.model.vocabulary import Verdict
from bylaw.runtime.settings import CommandSettings

SCRIPT = '#!/bin/sh\necho "$0" "$1" >> log\n'


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, **{"kept.txt": "kept\n"})
    made.repository.write("a.py", "a\n")
    return made


def put(place, text=SCRIPT, mode=0o755):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(mode)


def refused(world, program):
    assert world.command(f"{program} {{file}}").stop().verdict is Verdict.DENY
    assert world.held()["status"] == "failed"
    return world.held()["action_result"]["reason"].partition("`: ")[2]


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("./tidy.sh", "tidy.sh"),
        ("scripts/tidy.sh", "scripts/tidy.sh"),
        ("{repo_root}/scripts/tidy.sh", "scripts/tidy.sh"),
        ("./scripts/a b.sh", "scripts/a b.sh"),
    ],
)
def test_it_runs_at_the_top_of_the_repository(world, program, place):
    put(world.root / place)
    written = program.replace(" ", "\\ ")

    assert world.command(f"{written} {{file}}").stop().verdict is Verdict.ALLOW
    assert (world.root / "log").read_text().endswith(f"{place} a.py\n")


def test_a_link_inside_of_the_repository_is_followed(world):
    put(world.root / "scripts/real.sh")
    (world.root / "tidy.sh").symlink_to("scripts/real.sh")

    assert world.command("./tidy.sh {file}").stop().verdict is Verdict.ALLOW


@pytest.mark.parametrize("link", ["tidy.sh", "scripts"])
def test_no_link_leads_out(world, tmp_path, link):
    put(tmp_path / "outside/tidy.sh")
    target = tmp_path / ("outside/tidy.sh" if link == "tidy.sh" else "outside")
    (world.root / link).symlink_to(target)
    program = "./tidy.sh" if link == "tidy.sh" else "scripts/tidy.sh"

    assert refused(world, program) == f"`{program}` leads out of the repository"
    assert world.ran == []


def test_one_that_is_not_there(world):
    assert refused(world, "./no.sh") == "script `./no.sh` not found in the repository"


def test_a_folder_is_none(world):
    (world.root / "scripts/x").mkdir(parents=True)

    assert refused(world, "scripts/x") == "script `scripts/x` not found in the repository"


def test_one_that_nobody_may_execute(world):
    put(world.root / "tidy.sh", mode=0o644)

    why = "`./tidy.sh` is not executable; run `chmod +x` on it"
    assert refused(world, "./tidy.sh") == why


def test_one_of_which_the_system_does_not_know_how_to_run_it(world):
    put(world.root / "tidy.sh", text="echo no first line\n")

    why = "the file is not a program, and its first line names none"
    assert refused(world, "./tidy.sh") == why


def test_a_list_of_programs_does_not_name_it(world):
    put(world.root / "tidy.sh")
    world.settings = CommandSettings(timeout_s=300, allow=("sh", "tidy.sh"))

    assert "is not one of the allowed programs" in refused(world, "./tidy.sh")
