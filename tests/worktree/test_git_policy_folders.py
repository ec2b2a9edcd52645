"""The folders of the state: where they lie, who may look into them, and what is refused."""

import os
import stat

import pytest
from git_repository import Repository

from bylaw.model.errors import BylawError
from bylaw.worktree.folders import PolicyFolder, existing_policy_folder, policy_folder

POLICY = ".deepwork/tmp/policy"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_they_are_for_this_user_alone(tmp_path, umask):
    """DW-120, DW-133."""
    old = os.umask(umask)
    try:
        for state in PolicyFolder:
            with policy_folder(str(tmp_path), state) as folder:
                assert folder.notes == ()
                assert (
                    os.fstat(folder.descriptor).st_ino == (tmp_path / POLICY / state).stat().st_ino
                )
    finally:
        os.umask(old)

    assert {path.name for path in (tmp_path / POLICY).iterdir()} == {"queue", "baselines"}
    for path in (tmp_path / POLICY, *(tmp_path / POLICY).iterdir()):
        assert mode(path) == 0o700


def test_git_does_not_see_them(tmp_path):
    """DW-121, DW-A36."""
    repository = Repository(tmp_path / "r")
    with policy_folder(str(repository.path), PolicyFolder.QUEUE) as folder:
        os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=folder.descriptor))

    assert (repository.path / ".deepwork/tmp/.gitignore").read_text() == "*\n"
    assert repository.git("status", "--porcelain", "-uall") == ""


def test_an_ignore_file_that_is_there_stays(tmp_path):
    (tmp_path / ".deepwork/tmp").mkdir(parents=True)
    (tmp_path / ".deepwork/tmp/.gitignore").write_text("mine\n")

    with policy_folder(str(tmp_path), PolicyFolder.QUEUE):
        pass

    assert (tmp_path / ".deepwork/tmp/.gitignore").read_text() == "mine\n"


def test_wrong_permissions_are_corrected_and_noted(tmp_path):
    """DW-A45."""
    queue = tmp_path / POLICY / "queue"
    queue.mkdir(parents=True)
    queue.chmod(0o755)
    queue.parent.chmod(0o700)

    with policy_folder(str(tmp_path), PolicyFolder.QUEUE) as folder:
        notes = folder.notes

    assert notes == (f"`{POLICY}/queue` was open to other users (mode 755); this was corrected",)
    assert mode(queue) == 0o700
    with policy_folder(str(tmp_path), PolicyFolder.QUEUE) as folder:
        assert folder.notes == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_folder_of_another_user_is_refused(tmp_path):
    queue = tmp_path / POLICY / "queue"
    queue.mkdir(parents=True)
    os.chown(queue, 12345, 12345)

    with (
        pytest.raises(BylawError, match=r"`.*/queue`: it belongs to another user"),
        policy_folder(str(tmp_path), PolicyFolder.QUEUE),
    ):
        pass


@pytest.mark.parametrize("part", [".deepwork", ".deepwork/tmp"])
def test_links_out_of_the_root_are_refused(tmp_path, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    (root / part).parent.mkdir(parents=True, exist_ok=True)
    (root / part).symlink_to(outside)

    with (
        pytest.raises(BylawError, match=r"cannot use `\.deepwork/tmp/policy/queue`: it leads out"),
        policy_folder(str(root), PolicyFolder.QUEUE),
    ):
        pass
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("part", ["policy", "policy/queue"])
def test_in_our_own_folders_every_link_is(tmp_path, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / ".deepwork/tmp" / part
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)

    with (
        pytest.raises(BylawError, match="a file or a link is where a folder is expected"),
        policy_folder(str(tmp_path), PolicyFolder.QUEUE),
    ):
        pass
    assert list(outside.iterdir()) == []


def test_a_link_inside_of_the_root_is_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".deepwork").symlink_to("elsewhere")

    with policy_folder(str(tmp_path), PolicyFolder.BASELINES):
        pass

    assert (tmp_path / "elsewhere/tmp/policy/baselines").is_dir()


def test_what_is_not_there_is_not_made_by_who_only_reads(tmp_path):
    with existing_policy_folder(str(tmp_path), PolicyFolder.QUEUE) as folder:
        assert folder is None
    assert list(tmp_path.iterdir()) == []

    with policy_folder(str(tmp_path), PolicyFolder.QUEUE):
        pass
    with existing_policy_folder(str(tmp_path), PolicyFolder.BASELINES) as folder:
        assert folder is None
    with existing_policy_folder(str(tmp_path), PolicyFolder.QUEUE) as folder:
        assert folder is not None
