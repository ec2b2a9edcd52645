"""The uid of a rule, unique over all books: `dialect:path#id`."""

# Replaces the path for rules that a language or Bylaw itself provides.
BUILT_IN = "builtin"


def uid_of(dialect: str, path: str, rule_id: str) -> str:
    """Build the uid of a rule, which is unique over all books."""
    return f"{dialect}:{path}#{rule_id}"


def built_in_uid(dialect: str, rule_id: str) -> str:
    """Build the uid of a rule that is in no file."""
    return uid_of(dialect, BUILT_IN, rule_id)


def dialect_of(uid: str) -> str:
    """Return the language of a rule."""
    return uid.partition(":")[0]


def path_of(uid: str) -> str:
    """Return the file of a rule, or `BUILT_IN` if it is in no file."""
    rest = uid.partition(":")[2]
    return BUILT_IN if rest.startswith(f"{BUILT_IN}#") else rest.rpartition("#")[0]


def id_of(uid: str) -> str:
    """Return the id of a rule, as its file has it."""
    built_in = uid.partition(":")[2].partition(f"{BUILT_IN}#")
    if not built_in[0] and built_in[1]:
        return built_in[2]  # the id of a rule for a broken file contains a path
    return uid.rpartition("#")[2]
