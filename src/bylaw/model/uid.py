"""The uid of a rule, which is unique over all books: `dialect:path#id`."""

# In the place of a path: a rule that a language or Bylaw itself brings.
BUILT_IN = "builtin"


def uid_of(dialect: str, path: str, rule_id: str) -> str:
    """The name of a rule that is unique over all books."""
    return f"{dialect}:{path}#{rule_id}"


def built_in_uid(dialect: str, rule_id: str) -> str:
    """The uid of a rule that stands in no file."""
    return uid_of(dialect, BUILT_IN, rule_id)


def dialect_of(uid: str) -> str:
    """The language of a rule."""
    return uid.partition(":")[0]


def path_of(uid: str) -> str:
    """The file of a rule; `BUILT_IN` if it stands in none."""
    rest = uid.partition(":")[2]
    return BUILT_IN if rest.startswith(f"{BUILT_IN}#") else rest.rpartition("#")[0]


def id_of(uid: str) -> str:
    """The id of a rule, as its file and people call it."""
    built_in = uid.partition(":")[2].partition(f"{BUILT_IN}#")
    if not built_in[0] and built_in[1]:
        return built_in[2]  # that of a rule for a broken file names its path
    return uid.rpartition("#")[2]
