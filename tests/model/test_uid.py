"""Uids are built and taken apart in one place."""

import pytest

from bylaw.model.rule import BUILT_IN, built_in_uid, dialect_of, id_of, path_of, uid_of


@pytest.mark.parametrize(
    ("uid", "dialect", "path", "rule_id"),
    [
        (uid_of("chatmd", "main.chatmd", "r"), "chatmd", "main.chatmd", "r"),
        (uid_of("toml", "a:b/c#d.toml", "r"), "toml", "a:b/c#d.toml", "r"),
        (built_in_uid("law", "held"), "law", BUILT_IN, "held"),
        (built_in_uid("law", "does-not-load:a#b.md"), "law", BUILT_IN, "does-not-load:a#b.md"),
    ],
)
def test_a_uid_names_its_language_its_file_and_its_rule(uid, dialect, path, rule_id):
    assert (dialect_of(uid), path_of(uid), id_of(uid)) == (dialect, path, rule_id)
