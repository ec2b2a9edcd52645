"""The `cwd` of a command → the folder from the root, if it is inside an allowed folder (LD-099).

Only the text of the paths is compared. Links are resolved before the command starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from bylaw.expr.paths import normalise
from bylaw.model.codes.law_actions import LAW_FOLDER_NOT_ALLOWED
from bylaw.model.errors import RenderError
from bylaw.model.facts import LawFacts
from bylaw.model.visible import brief, listed, visible

if TYPE_CHECKING:
    from bylaw.model.rule import View

TOP = "."
_MAX_SHOWN = 5


def allowed_folder(cwd: str, view: View) -> str:
    """Return the normal form of the folder; raise RenderError if it is not allowed."""
    facts = view.event.facts
    given = facts.allowed_roots if isinstance(facts, LawFacts) else UNSET
    roots = [root for one in given or () if (root := _folder(one))]
    if not roots:
        raise _refused("no folder is allowed for commands: `allowed_roots` is empty")
    folder = _folder(cwd)
    if folder and any(_is_within(folder, root) for root in roots):
        return folder
    allowed = listed(roots, _MAX_SHOWN, lambda root: f"`{visible(brief(root))}`")
    raise _refused(f"`{visible(brief(cwd))}` is not within the allowed folders: {allowed}")


def _folder(path: str) -> str | None:
    """Return the normal form of a path; None with `..`, which may lead elsewhere after a link."""
    names = set(path.split("/"))
    if ".." in names:
        return None
    is_top = path.startswith(TOP) and names <= {"", TOP}
    return TOP if is_top else normalise(path)


def _is_within(folder: str, root: str) -> bool:
    return root in {TOP, folder} or folder.startswith(f"{root}/")


def _refused(reason: str) -> RenderError:
    return RenderError(LAW_FOLDER_NOT_ALLOWED.name, reason)
