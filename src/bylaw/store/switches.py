"""Read and write `.bylaw/state/switches.json`: the rules that a person disabled, by uid.

    {"version": 1, "disabled": {"UID": {"at": "2026-01-31T12:00:00+00:00"}}}

If the file cannot be read, no rule is disabled, the error is reported, and the file is never
overwritten.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, ValidationError, convert, field

from bylaw.model.codes.files import BROKEN_SWITCHES, NEWER_SWITCHES
from bylaw.model.errors import BylawError, LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.model.values import JsonError, read_json
from bylaw.store.files import MAX_INPUT_BYTES, decode_source, os_error_text, unreadable_error
from bylaw.store.state_folder import STATE_FOLDER, existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.values import JSON
    from bylaw.store.state_folder import StateFolder

FILE = "switches.json"
SWITCHES = f"{STATE_FOLDER}/{FILE}"
VERSION = 1


class Switches(Struct, frozen=True):
    """The disabled rules: uid → time; and the problems of the file."""

    disabled: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


class _Switch(Struct, frozen=True, forbid_unknown_fields=True):
    at: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    disabled: dict[str, _Switch]


def read_switches(root: str) -> Switches:
    """Return the disabled rules of a root; none if the file cannot be read."""
    try:
        with existing_state_folder(root) as folder:
            return Switches({} if folder is None else _read(folder))
    except LoadError as refused:
        return Switches(diagnostics=tuple(refused.diagnostics))
    except (OSError, ValueError) as wrong:
        return Switches(diagnostics=(unreadable_error(SWITCHES, wrong),))


def disable_rule(root: str, uid: str, at: str) -> None:
    """Disable a rule; LoadError if the file cannot be read, BylawError if it cannot be written."""
    _change(root, lambda disabled: {uid: at, **disabled})


def enable_rule(root: str, uid: str) -> None:
    """Enable a rule; errors as in `disable_rule`."""
    _change(root, lambda disabled: {one: disabled[one] for one in disabled if one != uid})


def _change(root: str, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    try:
        with state_folder(root) as folder, folder.lock(FILE):
            _write(folder, change(_read(folder)))
    except (OSError, ValueError) as wrong:
        raise BylawError(f"cannot change `{SWITCHES}`: {os_error_text(wrong)}") from None


def _write(folder: StateFolder, disabled: Mapping[str, str]) -> None:
    switches = {uid: {"at": disabled[uid]} for uid in sorted(disabled)}
    text = json.dumps({"version": VERSION, "disabled": switches}, indent=2, ensure_ascii=False)
    try:
        data = text.encode() + b"\n"
    except UnicodeEncodeError:
        raise ValueError("a rule is named after its file, and the file name is not UTF-8") from None
    if len(data) > MAX_INPUT_BYTES:  # it could not be read back
        raise ValueError(f"the file would be larger than {MAX_INPUT_BYTES:,} bytes")
    folder.write(FILE, data)


def _read(folder: StateFolder) -> dict[str, str]:
    data = folder.read(FILE, MAX_INPUT_BYTES)
    if data is None:
        return {}
    source = decode_source(SWITCHES, data)
    try:
        value = read_json(source.text)
    except JsonError as wrong:
        raise _broken_error(source, wrong.sentence_about("the file is"), wrong.span) from None
    return _check_content(source, value)


def _check_content(source: SourceFile, value: JSON) -> dict[str, str]:
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > VERSION:
        help_ = "use the newer Bylaw in this repository"
        headline = f"`{SWITCHES}` has version {version}, but this Bylaw supports only {VERSION}"
        raise load_error(NEWER_SWITCHES, headline, source, Span(0, 0), help=help_)
    try:
        found = convert(value, _File)
    except ValidationError as wrong:
        raise _broken_error(source, str(wrong), Span(0, 0)) from None
    return {uid: switch.at for uid, switch in found.disabled.items()}


def _broken_error(source: SourceFile, why: str, span: Span) -> LoadError:
    headline = f"`{SWITCHES}` cannot be read: {why[:1].lower()}{why[1:]}"
    help_ = "fix or remove the file; until then no rule is disabled"
    return load_error(BROKEN_SWITCHES, headline, source, span, help=help_)
