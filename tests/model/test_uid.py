"""Uids are built and taken apart in one place."""

import pytest

from bylaw.model.uid import built_in_uid, dialect_of, id_of, uid_of


@pytest.mark.parametrize(
    ("uid", "dialect", "rule_id"),
    [
        (uid_of("chatmd", "main.chatmd", "r"), "chatmd", "r"),
        (uid_of("toml", "a:b/c#d.toml", "r"), "toml", "r"),
        (built_in_uid("law", "held"), "law", "held"),
        (built_in_uid("law", "does-not-load:a#b.md"), "law", "does-not-load:a#b.md"),
    ],
)
def test_a_uid_names_its_language_and_its_rule(uid, dialect, rule_id):
    assert (dialect_of(uid), id_of(uid)) == (dialect, rule_id)
