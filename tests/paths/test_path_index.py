"""The index answers exactly what trying every pattern would answer."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.model.errors import PatternError
from bylaw.paths import normalise, pattern
from bylaw.paths.index import CROWDED, MIN_DENSE, MIN_SPARSE, PathIndex


def tried_one_by_one(patterns, path):
    return [n for n, one in enumerate(patterns) if one.match(path) is not None]


def test_numbers_are_ascending_and_complete():
    texts = ["**/*.py", "src/**", "{name}.md", "src/{path}.py", "*/*.py", "*", "{title}.md"]
    index = PathIndex([pattern(text) for text in texts])

    assert index.matching("src/a.py") == [0, 1, 3, 4]
    assert index.matching("README.md") == [2, 5, 6]
    assert index.matching("nothing/of/this.kind") == []


def test_a_path_that_is_not_normalised_matches_nothing():
    """DW-034"""
    index = PathIndex([pattern("**"), pattern("src/{path}.py")])

    for path in ["src/../a.py", "/src/a.py", "src//a.py", "", ".", "src/", "./src/a.py", "a\0b"]:
        assert index.matching(path) == []


def test_an_index_may_be_empty():
    assert PathIndex([]).matching("a") == []


def test_resolved_patterns_can_be_indexed():
    resolved = [pattern("docs/{n}/*.md").resolve({"n": n}) for n in ("*", "a_b", "{x}")]
    index = PathIndex(resolved)

    assert index.matching("docs/*/a.md") == [0]
    assert index.matching("docs/{x}/a.md") == [2]
    assert index.matching("docs/a_b/a.md") == [1]


words = st.sampled_from(["a", "b", "src", "py", "test", "user", "users", "user_x", "x-y", "model"])
pieces = st.one_of(
    words,
    st.sampled_from(
        ["*", "?", "**/", "**", "{*}", "{**}", "{name}", "{path}", "{py,md}", "{a,b/c}"]
    ),
    st.sampled_from(["/", "/", ".", "_", "-"]),
)
texts = st.lists(pieces, min_size=1, max_size=7).map("".join)
path_pieces = st.one_of(words, st.sampled_from(["/", "/", ".", "_", "-", "c", "md"]))
paths = st.lists(path_pieces, min_size=1, max_size=9).map("".join).map(normalise)


def readable(text):
    try:
        return pattern(text)
    except PatternError:
        return None


@settings(deadline=None, max_examples=400)
@given(st.lists(texts, max_size=40), st.lists(paths, min_size=1, max_size=10))
def test_same_as_trying_every_pattern(texts, paths):
    patterns = [one for one in map(readable, texts) if one]
    index = PathIndex(patterns)
    for path in filter(None, paths):
        assert index.matching(path) == tried_one_by_one(patterns, path)


def generated(kinds, count, seed):
    chance = random.Random(seed)
    stems = ["user", "order", "billing", "invoice", "login", "report"]
    for number in range(count):
        yield chance.choice(kinds).format(w=chance.choice(stems), n=number % (count // 2))


CROWDS = {
    "folders": ["src/{w}{n}/**", "src/{w}{n}/{{path}}.py", "{{top}}/{w}{n}/**/*.{{js,ts}}"],
    "long literals": [
        "**/test_{w}{n}*.py",
        "**/*{w}_{n}Controller.java",
        "src/*{w}{n}*/*.{{js,ts}}",
    ],
    "short literals": ["*{n}*", "**/*{n}x*", "{{name}}{n}*"],
    "no literals": ["*/*", "**", "?*/{{a}}", "{{path}}/?", "{{a}}/{{b}}", "*?/??*", "{{name}}"],
}


@pytest.mark.parametrize("kinds", CROWDS.values(), ids=CROWDS)
def test_crowds(kinds):
    """Each way of filing, with more patterns than any of the thresholds."""
    count = 4 * max(CROWDED, MIN_SPARSE, MIN_DENSE)
    patterns = [pattern(text) for text in generated(kinds, count, seed=1)]
    index = PathIndex(patterns)
    stars = {"**": "a/b", "*": "q", "?": "z", "{path}": "c/d", "{js,ts}": "ts"}
    for path in [one.text for one in patterns]:
        for star, value in stars.items():
            path = path.replace(star, value)  # noqa: PLW2901 - filled step by step
        path = path.replace("{", "").replace("}", "")  # noqa: PLW2901 - same
        assert index.matching(path) == tried_one_by_one(patterns, path) != []


def counting(index):
    """Count how often a pattern is tried from now on."""
    tried = Counter()

    def counted(test):
        def count(path):
            tried[path] += 1
            return test(path)

        return count

    filed = [*index._words.values(), *index._sparse.values(), *index._dense.values()]
    for shape in {shape for shapes in (*filed, *index._by_depth) for shape in shapes}:
        shape.test = counted(shape.test)
    return tried


def test_literal_texts_keep_a_path_from_meeting_most_patterns():
    patterns = [pattern(text) for text in generated(CROWDS["folders"], 4000, seed=2)]
    index = PathIndex(patterns)
    tried = counting(index)
    paths = [f"src/user{number}/models/thing.py" for number in range(2000)]
    found = [index.matching(path) for path in paths]

    assert max(tried.values()) <= CROWDED
    assert sum(map(len, found)) > 100
