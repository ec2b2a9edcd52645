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
Change files with a patch: all of them or none. Paths start at the project root.

*** Begin Patch
*** Add File: path/of/new_file
+every line of the new file begins with a plus
*** Update File: path/of/file
*** Move to: path/if/the/file/is/moved
@@ def the_function_that_contains_the_lines():
 an existing line that stays
-a line to remove
+a line to add
 an existing line that stays
*** Delete File: path/of/old_file
*** End Patch

Show about three unchanged lines before and after each change, exactly as they are in the file. If \
these lines are in the file more than once, name one or more lines above them, each with `@@ `. \
`@@` alone begins another hunk. Write hunks in the order of the file. `*** End of File` after a \
hunk says that the hunk is at the end of the file.\
"""


class PatchArguments(Arguments, frozen=True, kw_only=True):
    """The patch."""

    patch: Annotated[str, Meta(description="The patch, from `*** Begin Patch` to `*** End Patch`.")]


class ApplyPatch(WritingTool[PatchArguments]):
    """Changes files with a patch."""

    synonyms: tuple[tuple[str, str], ...] = (("input", "patch"),)

    def __init__(self, files: Files) -> None:
        super().__init__(files, "apply_patch", DESCRIPTION, PatchArguments)

    def change(self, args: PatchArguments) -> str:
        """Apply a patch."""
        plan = planned(self.files, parse_patch(args.patch))
        carry_out(self.files.root, plan.changes)
        return "\n".join(["applied the patch", *plan.told])
