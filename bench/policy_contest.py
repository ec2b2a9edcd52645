"""Ten policies, the same repositories, two programs → who finds what, and why they differ.

Every difference is written down here with its reason. One that is not, or that is no longer there,
stops the run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from policy_sides import Place
from table import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from policy_sides import Findings

_BODY = "Look at {trigger_files}."
_FRONTS = {
    "readme": "trigger: src/**/*.py\nsafety: README.md",
    "top-level": "trigger: '*.py'",
    "migrations": "trigger: '**/migrations/**'",
    "scripts": "trigger: 'web/**/*.{js,ts}'",
    "tests": "set: ['src/{path}.py', 'tests/{path}_test.py']",
    "features": "set: ['backend/{name}/**', 'frontend/{name}/**']",
    "api-docs": "pair: {trigger: 'api/{path}.py', expects: 'docs/api/{path}.md'}",
    "locks": "pair: {trigger: pyproject.toml, expects: [uv.lock, CHANGELOG.md]}",
    "new-modules": "created: 'src/**/*.py'",
    "tidy": "trigger: 'notes/**'\naction: {command: 'test -f {file}'}",
}
POLICIES = {
    name: f"---\nname: {name}\n{front}\ncompare_to: base\n---\n{_BODY}\n"
    for name, front in _FRONTS.items()
}
FILES = {
    path: f"{path}\n"
    for path in (
        "README.md", "setup.py", "src/a.py", "src/b/c.py", "tests/a_test.py", "api/users.py",
        "docs/api/users.md", "pyproject.toml", "uv.lock", "CHANGELOG.md", "web/app/main.ts",
        "migrations/0001.py", "backend/pay/routes.py", "frontend/pay/view.js", "notes/todo.txt",
    )
}  # fmt: skip


class Difference(NamedTuple):
    """A policy that fires on other files, and the reason."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    why: str


class Scene(NamedTuple):
    """What is done to a repository before its agent stops."""

    name: str
    play: Callable[[Place], None]
    differences: Mapping[str, Difference]


def run(folder: Path) -> list[Row]:
    """A row for each repository; stops at a difference that nobody wrote down."""
    return [_row(scene, Place(folder / f"scene-{n}")) for n, scene in enumerate(SCENES)]


def _row(scene: Scene, place: Place) -> Row:
    place.begin(FILES)
    place.lay_out(POLICIES)
    scene.play(place)
    ours, our_seconds = _timed(place.ours)
    theirs, their_seconds = _timed(place.theirs)  # behind ours: it stages what it sees
    found = _differences(ours, theirs)
    known = {name: (one.ours, one.theirs) for name, one in scene.differences.items()}
    if found != known:
        raise SystemExit(f"{scene.name}: found {found}, and known is {known}")
    return Row(f"ten policies: {scene.name}", _told(scene), our_seconds, their_seconds)


def _differences(
    ours: Findings, theirs: Findings
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    pairs = {name: (ours.get(name, ()), theirs.get(name, ())) for name in POLICIES}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _timed(check: Callable[[], Findings]) -> tuple[Findings, float]:
    begun = time.perf_counter()
    found = check()
    return found, time.perf_counter() - begun


def _told(scene: Scene) -> str:
    same = len(POLICIES) - len(scene.differences)
    reasons: dict[str, list[str]] = {}
    for name, one in scene.differences.items():
        reasons.setdefault(one.why, []).append(name)
    told = [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    return "; ".join([f"the first stop; {same} of {len(POLICIES)} find the same files", *told])


def _plain(place: Place) -> None:
    place.write({"src/a.py": "1", "tests/a_test.py": "1", "api/users.py": "1"})
    place.git("commit", "-q", "-a", "-m", "x")
    place.write({"pyproject.toml": "1", "src/new.py": "1", "notes/todo.txt": "1"})
    place.git("add", "pyproject.toml")


def _globs(place: Place) -> None:
    place.write({"src/b/c.py": "1", "tests/b/c_test.py": "1", "README.md": "1"})
    place.write({"web/app/main.ts": "1", "migrations/0001.py": "1"})
    place.write({"backend/shop/cart.py": "1"})


def _odd(place: Place) -> None:
    place.write({"src/größe.py": "1"})
    (place.root / "notes/todo.txt").unlink()
    place.git("mv", "api/users.py", "api/people.py")


def _reverted(place: Place) -> None:
    before = (place.root / "src/a.py").read_text()
    place.write({"src/a.py": "1"})
    place.git("commit", "-q", "-a", "-m", "x")
    place.write({"src/a.py": before})
    place.git("add", "src/a.py")  # else the next commit would have it, and it counts for both


def _alone(place: Place) -> None:
    place.git("update-ref", "-d", "refs/remotes/origin/main")
    place.write({"src/a.py": "1"})


def _broken(place: Place) -> None:
    place.write({"src/a.py": "1"})
    place.lay_out({**POLICIES, "broken": "---\nname: broken\ntriger: x\n---\nx\n"})


_STAR = "their `*` reaches into folders"
_UNITED = "they name all files of the policy, ours those whose counterpart is missing"
_QUOTED = "they see names beyond ASCII as git quotes them"
_TAKEN_BACK = "they compare commits, so what is taken back and not yet committed still counts"
_ALONE = "without a remote they find no changes; we compare with the local `main`"
_BROKEN = "one file that does not load switches all of theirs off"
_SIZE, _A = "src/größe.py", "src/a.py"

SCENES: tuple[Scene, ...] = (
    Scene(
        "changes",
        _plain,
        {
            "top-level": Difference(
                (), ("api/users.py", _A, "src/new.py", "tests/a_test.py"), _STAR
            ),
            "tests": Difference(("src/new.py",), (_A, "src/new.py", "tests/a_test.py"), _UNITED),
        },
    ),
    Scene(
        "globs",
        _globs,
        {
            "top-level": Difference(
                (),
                ("backend/shop/cart.py", "migrations/0001.py", "src/b/c.py", "tests/b/c_test.py"),
                _STAR,
            ),
            "migrations": Difference(
                ("migrations/0001.py",),
                (),
                "their `**/` is no longer no folder beside another `**`",
            ),
            "scripts": Difference(("web/app/main.ts",), (), "they know no alternatives in braces"),
            "features": Difference(
                ("backend/shop/cart.py",), (), "in sets their wildcards are plain text"
            ),
        },
    ),
    Scene(
        "odd names, deleted, renamed",
        _odd,
        {
            "readme": Difference((_SIZE,), (), _QUOTED),
            "top-level": Difference((), ("api/people.py",), _STAR),
            "tests": Difference((_SIZE,), (), _QUOTED),
            "api-docs": Difference(
                ("api/people.py", "api/users.py"),
                ("api/people.py",),
                "to us a renamed file is changed under both names",
            ),
            "new-modules": Difference((_SIZE,), (), _QUOTED),
            "tidy": Difference(
                (), ("notes/todo.txt",), "theirs runs the command on a file that is gone"
            ),
        },
    ),
    Scene(
        "taken back",
        _reverted,
        {
            name: Difference(
                (), (_A,), f"{_TAKEN_BACK}; {_STAR}" if name == "top-level" else _TAKEN_BACK
            )
            for name in ("readme", "top-level", "tests")
        },
    ),
    Scene("no remote", _alone, {n: Difference((_A,), (), _ALONE) for n in ("readme", "tests")}),
    Scene(
        "a broken policy", _broken, {n: Difference((_A,), (), _BROKEN) for n in ("readme", "tests")}
    ),
)
