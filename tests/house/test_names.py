"""Names of modules and classes, and names that a layer must not know."""

import ast
import re

from retired_words import CLASS_NAMES_LEFT, read_left, shared_class_names
from source_code import LANGUAGES, docstrings, modules, parse

# Terms that readers know: from compilers, and from security.
PARTICIPLES = {"lowering", "fail_closed"}

RETIRED = {
    "anew",
    "beneath",
    "beside",
    "closing",
    "demands",
    "desk",
    "front",
    "glance",
    "heard",
    "intake",
    "letters",
    "matters",
    "office",
    "opinions",
    "outfit",
    "outlook",
    "overlooked",
    "patience",
    "rehearsal",
    "room",
    "said",
    "saying",
    "scribe",
    "sieve",
    "slate",
    "standing",
    "talk",
    "telling",
    "told",
    "untold",
    "verbs",
    "wishes",
    "witness",
    "words",
    "writing",
    "written",
}


def _stems():
    for name, _ in modules():
        for part in name.removesuffix(".py").split("/"):
            yield name, part


def test_no_module_is_a_gerund_or_a_participle():
    found = {
        name for name, stem in _stems() if stem.endswith(("ing", "ed")) and stem not in PARTICIPLES
    }

    assert not found, "a module is a noun for what it holds, a pass may be a verb"


def test_no_module_has_a_retired_name():
    found = {name for name, stem in _stems() if RETIRED & set(stem.split("_"))}

    assert not found, "the name must say what is in the module"


def test_a_public_class_name_occurs_once():
    found = shared_class_names()
    listed = read_left(CLASS_NAMES_LEFT)

    new, stale = sorted(found - listed), sorted(listed - found)

    assert not new, "choose a name that says which one it is"
    assert not stale, "run `python tests/house/retired_words.py` for the shorter list"


LANGUAGE_NAMES = {path.name for path in LANGUAGES.iterdir() if path.is_dir()} | {
    "toml",
    "policies",
    "hook_rules",
}


def test_the_engine_knows_no_language():
    """How a language orders, stops and writes is a value of `Procedure`."""
    found = [
        (name, node.lineno)
        for name, path in modules()
        if name.startswith("engine/")
        for node, text, is_name in _words(path)
        if (text.isupper() or not is_name) and text.lower() in LANGUAGE_NAMES
    ]

    assert not found


CLIENT_NAMES = "claude|codex|copilot|cursor|droid|gemini|opencode|qwen"
_CLIENT = re.compile(rf"(?<![a-z])(?<!sqlite3\.)(?:{CLIENT_NAMES})(?![a-z])", re.IGNORECASE)
# `hosts/clients/` has one module for each client. These files name clients as well.
CLIENT_FILES = {
    "hosts/bus/watcher/actor.py": "RULE_DSL names agents; a process with such a name is one",
    "hosts/demo/story.py": "the demo shows one call of Claude Code",
    "hosts/hooks/disk_changes.py": "two clients report changed files in events of their own",
    "hosts/hooks/fake_model.py": "it speaks the protocol of the model of Gemini",
    "hosts/hooks/install/advice.py": "other clients read the hooks for Claude Code",
    "hosts/hooks/install/config_file.py": "each client has its own form of a hook entry",
    "hosts/hooks/install/forms.py": "each client has its own configuration file",
    "model/codes/runtime.py": "diagnostics about one client, with an example",
    "model/vocabulary.py": "RULE_DSL names agents as authors of messages",
    "report/doctor_clients.py": "each client keeps in its own file which hooks it trusts",
    "runtime/effects.py": "what each client supports; the table of docs/hooks.md comes from it",
}


def test_few_files_name_a_client():
    """Texts of help pages come from docstrings, so docstrings may name clients."""
    found = {
        name
        for name, path in modules()
        if not name.startswith("hosts/clients/") and _names_a_client(path)
    }

    assert found - set(CLIENT_FILES) == set(), "move it to `hosts/clients/`, or add the reason here"
    assert set(CLIENT_FILES) - found == set(), "they name no client; remove them from the list"


def _names_a_client(path):
    return _CLIENT.search(path.read_text(encoding="utf-8")) and any(
        _CLIENT.search(text) and not (is_name and text.lower() == "cursor" and not text.isupper())
        for _, text, is_name in _words(path)
    )  # `Cursor` and `cursor` are names of sqlite


def _words(path):
    """Yield all strings and names of a module, but no docstrings: node, text, whether it is a name."""
    tree = parse(path)
    ignored = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in ignored:
                yield node, text, False
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.alias(name=text):
                yield node, text, True
            case ast.ImportFrom(module=str(text)):
                yield node, text, True
