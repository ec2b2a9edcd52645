"""Both real packages, each against a server on loopback that speaks its wire format."""

from dataclasses import dataclass
from typing import Any

import pytest

import model_server
from bylaw.hosts.chat.models.anthropic import AnthropicModel
from bylaw.hosts.chat.models.base import RetryPolicy
from bylaw.hosts.chat.models.openai import OpenAIModel

KEY = "sk-very-secret-0123456789"
VARIABLES = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"]
VARIABLES += ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]


@dataclass
class Provider:
    name: str
    make: Any
    stream: Any
    server: Any
    made: list

    def model(self, **patience):
        patience = {"timeout_s": 300, "first_wait_s": 0.01, "retries": 3} | patience
        url = self.server.url if self.name == "openai" else self.server.url.removesuffix("/v1")
        model = self.make("m", base_url=url, patience=RetryPolicy(**patience))
        self.made.append(model)
        return model

    def error_event(self, kind, message):
        error = {"type": kind, "message": message}
        if self.name == "openai":
            return model_server.sse({"error": error})
        return model_server.named({"type": "error", "error": error})


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    return KEY


@pytest.fixture
def server():
    with model_server.model_server() as running:
        yield running


@pytest.fixture
def openai(server):
    yield from _provider("openai", OpenAIModel, model_server.openai_stream, server)


@pytest.fixture
def anthropic(server):
    yield from _provider("anthropic", AnthropicModel, model_server.anthropic_stream, server)


@pytest.fixture(params=["openai", "anthropic"])
def provider(request):
    return request.getfixturevalue(request.param)


def _provider(name, make, stream, server):
    made = []
    yield Provider(name, make, stream, server, made)
    for model in made:
        model.close()
