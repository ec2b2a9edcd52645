"""The parts of a path pattern, and the limits of patterns and paths."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

MAX_PATTERN = 4_096  # characters; as long as a path can be
MAX_WILDCARDS = 8  # per pattern, without `?`, which has a fixed width
MAX_ALTERNATIVES = 32  # in one pair of braces
MAX_PATH = 4_096  # bytes, the limit of the operating system

PATH_VARIABLE = "path"


class PartKind(Enum):
    """The kinds of wildcard; the value is its text without a name."""

    ONE = "?"  # one character of a segment
    STAR = "*"  # any characters of a segment, or none
    PART = "{*}"  # some characters of a segment, not `.` or `..`
    FOLDERS = "**/"  # any number of complete folders, or none
    PARTS = "{**}"  # some characters across segments; none of them empty, `.` or `..`
    ANY = "**"  # at the end: any number of folders and a name


class Literal(Struct, frozen=True):
    """Literal text."""

    text: str

    @property
    def written(self) -> str:
        """The part as it is written."""
        return self.text


class Alternatives(Struct, frozen=True):
    """One of several literal texts."""

    texts: tuple[str, ...]

    @property
    def written(self) -> str:
        """The part as people write it."""
        return "{" + ",".join(self.texts) + "}"


class Wildcard(Struct, frozen=True):
    """A wildcard; with a name it is a variable."""

    kind: PartKind
    name: str = ""

    @property
    def written(self) -> str:
        """The part as people write it."""
        return f"{{{self.name}}}" if self.name else self.kind.value


Token = Literal | Alternatives | Wildcard


def texts_of(token: Token) -> tuple[str, ...]:
    """Return the texts that a part can be; none for a wildcard."""
    if isinstance(token, Literal):
        return (token.text,)
    return token.texts if isinstance(token, Alternatives) else ()


def variable(name: str) -> Wildcard:
    """Return the wildcard of a variable; only `path` crosses folders."""
    return Wildcard(PartKind.PARTS if name == PATH_VARIABLE else PartKind.PART, name)


def joined(tokens: list[Token]) -> tuple[Token, ...]:
    """Return the parts with neighbouring literals merged."""
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        if isinstance(token, Literal) and isinstance(last, Literal):
            result[-1] = Literal(last.text + token.text)
        elif token != Literal(""):
            result.append(token)
    return tuple(result)
