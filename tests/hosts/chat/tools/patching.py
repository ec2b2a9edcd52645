"""Two texts → a patch that turns the one into the other."""

from difflib import SequenceMatcher


def patch(*lines):
    """A patch from its lines, without the first and the last."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def hunks_between(old, new, context):
    """The lines of hunks that turn `old` lines into `new` ones, with so many lines around them."""
    lines = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        lines.append("@@")
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += [f" {line}" for line in old[i1:i2]]
            else:
                lines += [f"-{line}" for line in old[i1:i2]] + [f"+{line}" for line in new[j1:j2]]
        if group[-1][2] == len(old):
            lines.append("*** End of File")
    return lines
