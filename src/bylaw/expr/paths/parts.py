"""The parts of a path pattern, and the limits that keep patterns and paths small."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

MAX_PATTERN = 4_096  # characters: no longer than a path may be
MAX_WILDCARDS = 8  # a pattern; `?` is not counted, its width is fixed
MAX_ALTERNATIVES = 32  # in one pair of braces
MAX_PATH = 4_096  # bytes, as the operating system counts

PATH_VARIABLE = "path"


class PartKind(Enum):
    """What a wildcard stands for; the value is how it is written without a name."""

    ONE = "?"  # one character of a segment
    STAR = "*"  # any characters of a segment, also none
    PART = "{*}"  # some characters of a segment, not `.` or `..`
    FOLDERS = "**/"  # any number of whole folders, also none
    PARTS = "{**}"  # some characters across segments; none of them empty, `.` or `..`
    ANY = "**"  # at the end: any number of folders and a name


class Literal(Struct, frozen=True):
    """Text that stands for itself."""

    text: str

    @property
    def written(self) -> str:
        """The part as people see it."""
        return self.text


class Alternatives(Struct, frozen=True):
    """One of several literal texts."""

    texts: tuple[str, ...]

    @property
    def written(self) -> str:
        """The part as people write it."""
        return "{" + ",".join(self.texts) + "}"


class Wildcard(Struct, frozen=True):
    """Text that is not known beforehand; with a name it is a variable."""

    kind: PartKind
    name: str = ""

    @property
    def written(self) -> str:
        """The part as people write it."""
        return f"{{{self.name}}}" if self.name else self.kind.value


Token = Literal | Alternatives | Wildcard


def texts_of(token: Token) -> tuple[str, ...]:
    """The texts that a part may be; none if it may be any."""
    if isinstance(token, Literal):
        return (token.text,)
    return token.texts if isinstance(token, Alternatives) else ()


def variable(name: str) -> Wildcard:
    """The wildcard of a name: only `path` crosses folders."""
    return Wildcard(PartKind.PARTS if name == PATH_VARIABLE else PartKind.PART, name)


def joined(tokens: list[Token]) -> tuple[Token, ...]:
    """The same parts with neighbouring literals made one."""
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        if isinstance(token, Literal) and isinstance(last, Literal):
            result[-1] = Literal(last.text + token.text)
        elif token != Literal(""):
            result.append(token)
    return tuple(result)
