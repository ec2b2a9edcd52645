"""The models of all providers, by names such as `openai:gpt-5` or `script:turns.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.models.anthropic import AnthropicModel
from bylaw.hosts.chat.models.base import TIMEOUT_S, ModelError, RetryPolicy
from bylaw.hosts.chat.models.openai import OpenAIModel
from bylaw.hosts.chat.models.script import ScriptedModel
from bylaw.model.display import brief
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from bylaw.hosts.chat.models.base import Model

PROVIDERS = ("anthropic", "openai", "script")


def create_model(name: str, *, base_url: str = "", timeout_s: float = TIMEOUT_S) -> Model:
    """Return the model. Raises ModelError if its name is invalid, or its package or key is missing.

    The key is sent to `base_url`, so callers must not pass an address from untrusted files.
    """
    provider, _, rest = name.partition(":")
    if provider not in PROVIDERS:
        help_line = did_you_mean(provider, PROVIDERS)
        raise ModelError(f"unknown model provider `{brief(provider)}`: {help_line}")
    if not rest:
        raise ModelError(f"the name of the model is missing: write `{provider}:NAME`")
    if provider == "script":
        return ScriptedModel(rest)
    patience = RetryPolicy(timeout_s=timeout_s)
    if provider == "openai":
        return OpenAIModel(rest, base_url=base_url, patience=patience)
    return AnthropicModel(rest, base_url=base_url, patience=patience)
