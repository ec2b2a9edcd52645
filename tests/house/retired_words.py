"""Words that our texts no longer use, and what is left of them.

    python tests/house/retired_words.py

rewrites `words-left.txt` and `class-names-left.txt`. A change may only make them shorter. Texts that
a document of a rule language prescribes are in `words-exempt.txt`, which is written by hand: one
line for each text, as in `words-left.txt`, below a comment with the reason.
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from source_code import LANGUAGES, ROOT, modules, parse, texts_of_markdown, texts_of_python

HERE = Path(__file__).parent
WORDS_LEFT = HERE / "words-left.txt"
WORDS_EXEMPT = HERE / "words-exempt.txt"
CLASS_NAMES_LEFT = HERE / "class-names-left.txt"

_HEADER = "# Rewritten by `python tests/house/retired_words.py`. It may only become shorter.\n"

# What to write instead: CONTRIBUTING.md.
WORDS = (
    "anew",
    "be had",
    "be told|told|tells? of",
    "heard",
    "by now|of then",
    "come to be|comes? of",
    "counts for",
    "fence|no wall",
    "finds? out|found out",
    "hands? in|hands? back|handed",
    "holds? up|held up|keeps? back|kept back",
    "lets? go|lets? through",
    "lest",
    "lies|lie in",
    "stands?(?!-)|stood",
    "looks? at|looked at|looks? whether",
    "(?:is|are|was) meant",
    "mends?|mended",
    "nobody|somebody|whoever|whatever|whichever|whom",
    "see to|sees to|seen to",
    "settles?|settled",
    "so often|so many",
    "(?<!there )(?:is|are|was|be) (?:no|none)|no such",
    "also if",
    "verbs?",
    "says whether|asked whether",
    "the like|to the letter|for good|be it",
    "beside|thereof|hereby|knows? of",
    "wants? to be",
)
_PATTERN = re.compile(rf"\b(?:{'|'.join(WORDS)})\b|\btoo(?=[.;:])", re.IGNORECASE)


def words_in(line):
    """Return the retired words of a line, in lower case."""
    return [match[0].lower() for match in _PATTERN.finditer(line)]


def words_found():
    """Return the lines of src and docs with a retired word, and how often each occurs."""
    found = Counter()
    for path, read_lines in _texts():
        if not _PATTERN.search(path.read_text(encoding="utf-8")):
            continue  # finding the texts of a file is slow
        name = path.relative_to(ROOT).as_posix()
        for line in read_lines(path):
            text = " ".join(line.split())
            found.update(f"{name}: [{word}] {text}" for word in words_in(line))
    return found


def _texts():
    for _, path in modules():
        yield path, texts_of_python
    for path in sorted((ROOT / "docs").rglob("*.py")):
        yield path, texts_of_python
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.parent.name != "diagnostics":  # generated from texts of src and of docs/*.py
            yield path, texts_of_markdown


def shared_class_names():
    """Return public class names that occur more than once, with the number of their files.

    Languages may share a name if it is in the file of the same name.
    """
    places = defaultdict(list)
    for name, path in modules():
        for node in parse(path).body:
            if type(node).__name__ == "ClassDef" and not node.name.startswith("_"):
                places[node.name].append(name)
    return Counter({name: len(found) for name, found in places.items() if _is_shared(found)})


def _is_shared(names):
    paths = [LANGUAGES.parent / name for name in names]
    is_parallel = len({path.name for path in paths}) == 1 and all(
        path.parent.parent == LANGUAGES for path in paths
    )
    return len(names) > 1 and not is_parallel


def read_left(path):
    """Return the lines of a list, without comments, and how often each occurs."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return Counter(line for line in lines if line and not line.startswith("#"))


def write_left(path, found):
    """Rewrite a list, and print how it changed."""
    before = read_left(path)
    path.write_text(_HEADER + "".join(f"{line}\n" for line in sorted(found.elements())))
    added, removed = found - before, before - found
    print(f"{path.name}: {found.total()} ({added.total()} added, {removed.total()} removed)")


def main():
    """Rewrite both lists."""
    write_left(WORDS_LEFT, words_found() - read_left(WORDS_EXEMPT))
    write_left(CLASS_NAMES_LEFT, shared_class_names())
    return 0


if __name__ == "__main__":
    sys.exit(main())
