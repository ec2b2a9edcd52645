"""The tool `apply_patch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from bylaw.hosts.chat.tools.arguments import Arguments
from bylaw.hosts.chat.tools.changes import carry_out
from bylaw.hosts.chat.tools.editing import WritingTool
from bylaw.hosts.chat.tools.patch.parse import parse_patch
from bylaw.hosts.chat.tools.patch.plan import planned

if TYPE_CHECKING:
    from bylaw.hosts.chat.tools.files import Files

DESCRIPTION = """\
Change files by a patch, all of them or none. Paths begin at the folder of the chat.

*** Begin Patch
*** Add File: path/of/new_file
+every line of it begins with a plus
*** Update File: path/of/file
*** Move to: path/if/it/gets/another
@@ def the_function_that_the_lines_stand_in():
 a line that is there, and stays
-a line that goes
+a line that comes in its place
 a line that is there, and stays
*** Delete File: path/of/old_file
*** End Patch

Show about three lines that stay before and after each change, exactly as they stand in the file. \
Where they do not tell the place, name one line or more above it, each with `@@ `; `@@` alone \
begins another hunk. Hunks have the order of the file. `*** End of File` behind a hunk says that \
it stands at the end.\
"""


class PatchArguments(Arguments, frozen=True, kw_only=True):
    """The patch."""

    patch: Annotated[str, Meta(description="All of it, from `*** Begin Patch` to `*** End Patch`.")]


class ApplyPatch(WritingTool[PatchArguments]):
    """Changes files as a patch says."""

    synonyms: tuple[tuple[str, str], ...] = (("input", "patch"),)

    def __init__(self, files: Files) -> None:
        super().__init__(files, "apply_patch", DESCRIPTION, PatchArguments)

    def change(self, args: PatchArguments) -> str:
        """Apply a patch."""
        plan = planned(self.files, parse_patch(args.patch))
        carry_out(self.files.root, plan.changes)
        return "\n".join(["applied the patch", *plan.told])
