"""Seeded patterns and paths of a large repository, and the same patterns for other libraries."""

from __future__ import annotations

import random
import re

WORDS = [
    "user",
    "order",
    "invoice",
    "auth",
    "login",
    "session",
    "report",
    "export",
    "cache",
    "queue",
    "event",
    "model",
    "schema",
    "view",
    "handler",
    "client",
    "server",
    "config",
    "index",
    "search",
    "mail",
    "token",
    "grant",
    "billing",
    "ledger",
    "audit",
]
TOPS = ["services", "libs", "apps", "packages", "src"]
ENDINGS = ["py"] * 8 + ["ts", "tsx", "js", "md", "sql", "yaml", "json", "go"]
AREAS = 2_000

GENERAL = [
    "**/*.md",
    "*.toml",
    "**/Makefile",
    "**/test_*.py",
    "**/*_pb2.py",
    "docs/**",
    "{module}/{name}.py",
    "**/*.{js,ts}",
    ".github/**/*.yml",
    "**/migrations/{name}.sql",
]
OF_AN_AREA = [
    "{folder}/**/*.py",
    "{folder}/{{path}}.py",
    "{folder}/**",
    "{folder}/{word}/*.ts",
    "{top}/*-{area}/{{name}}.sql",
    "**/{word}-{area}/**/*.{{js,ts}}",
    "{folder}/{word}/{{name}}_test.go",
    "**/{word}_{other}_{area}.py",
    "{folder}/README.md",
    "{top}/**/test_{word}{area}*.py",
]
WITHOUT_LITERALS = ["*", "?*", "*_*", "{name}", "*-?*", "*.*", "??*", "*?-*", "*a*"]


def paths(count: int) -> list[str]:
    """Files of about 42 characters, three to six folders deep."""
    chance = random.Random(1)
    return [_path(chance) for _ in range(count)]


def _path(chance: random.Random) -> str:
    area = chance.randrange(AREAS)
    folders = [TOPS[area % len(TOPS)], f"{chance.choice(WORDS)}-{area}"]
    folders += chance.choices(WORDS, k=chance.randrange(4))
    name = "_".join(chance.choices(WORDS, k=chance.randrange(1, 4)))
    test = chance.choice(["test_", "", "", ""])
    return "/".join(folders) + f"/{test}{name}.{chance.choice(ENDINGS)}"


def patterns(count: int) -> list[str]:
    """One in fifty, up to ten, looks at the whole repository, the others at one area of it."""
    chance = random.Random(2)
    general = GENERAL[: count // 50]
    return general + [_pattern(chance) for _ in range(count - len(general))]


def _pattern(chance: random.Random) -> str:
    area = chance.randrange(AREAS)
    top, word, other = TOPS[area % len(TOPS)], chance.choice(WORDS), chance.choice(WORDS)
    form = chance.choice(OF_AN_AREA)
    return form.format(top=top, word=word, other=other, area=area, folder=f"{top}/{word}-{area}")


def patterns_without_literals(count: int) -> list[str]:
    """Patterns that say next to nothing about a path: the weak case of any index."""
    chance = random.Random(3)
    return [_weak(chance) for _ in range(count)]


def _weak(chance: random.Random) -> str:
    segments = chance.choices(WITHOUT_LITERALS, k=chance.randrange(1, 4))
    named = [text.replace("name", f"name{i}") for i, text in enumerate(segments)]
    return chance.choice(["", "", "**/"]) + "/".join(named)


def as_glob(pattern: str) -> str:
    """For libraries that know no variables; in this mix `{path}` begins a segment."""
    return re.sub(r"\{\w+\}", "*", pattern.replace("{path}", "**/*"))


def as_globs_without_braces(pattern: str) -> list[str]:
    """The same for libraries that know no alternatives."""
    glob = as_glob(pattern)
    found = re.search(r"\{([^}]*)\}", glob)
    return [glob.replace(found[0], text) for text in found[1].split(",")] if found else [glob]


def as_regex(pattern: str) -> str:
    """The regular expression that one would write by hand."""
    pieces = re.findall(r"\{[^}]*\}|\*\*/|\*\*|.", as_glob(pattern))
    return "".join(map(_regex_piece, pieces))


def _regex_piece(piece: str) -> str:
    known = {"**/": "(?:[^/]+/)*", "**": ".+", "*": "[^/]*", "?": "[^/]"}
    if piece[0] == "{":
        return "(?:" + "|".join(map(re.escape, piece[1:-1].split(","))) + ")"
    return known.get(piece) or re.escape(piece)
