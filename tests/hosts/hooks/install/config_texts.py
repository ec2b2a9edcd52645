"""Texts of JSON as people write them: comments, line ends, indentation, commas at the end."""

import json

from hypothesis import strategies as st

from bylaw.hosts.hooks.install.json_edit import JsonDialect

WIDE = JsonDialect(comments=True, last_commas=True, mark=True)
MARKED = JsonDialect(mark=True)
KEYS = st.sampled_from(["a", "b", "hooks", "plugin", "PreToolUse", "Stop", "x y", "é", "version"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-99, 99),
    st.sampled_from(["", "text", "// no", "/* no */", 'a"b', "\\", "é\u2028", "{", "],"]),
)
BLANKS = st.sampled_from(["", " ", "  ", "\n", "\n  ", "\n\t", "\n\n    "])
REMARKS = st.sampled_from(
    ["", "", "", " /* one */ ", "// two\n", ' // three, "four"\n ', "/* \n */"]
)


@st.composite
def gaps(draw, form):
    gap = draw(BLANKS)
    if form.comments:
        gap += draw(REMARKS) + draw(BLANKS)
    return gap


@st.composite
def written(draw, value, form):
    """One of the ways to write a value."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts = []
    for one in value:
        item = draw(written(value[one] if isinstance(value, dict) else one, form))
        if isinstance(value, dict):
            item = f"{json.dumps(one)}{draw(gaps(form))}:{draw(gaps(form))}{item}"
        parts.append(draw(gaps(form)) + item + draw(gaps(form)))
    inside = ",".join(parts) or draw(gaps(form))
    if parts and form.last_commas and draw(st.booleans()):
        inside += "," + draw(gaps(form))
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def texts(draw, values=VALUES, form=WIDE):
    """A whole file."""
    text = draw(gaps(form)) + draw(written(draw(values), form)) + draw(gaps(form))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if form.mark and draw(st.booleans()) else "") + text
