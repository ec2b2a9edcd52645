"""A model by its name: which one it is, what is missing, what is sent where."""

import pkgutil
import subprocess
import sys

import pytest

import bylaw.hosts.chat
from bylaw.hosts.chat.blocks import ModelOptions, Request, RequestMessage
from bylaw.hosts.chat.models import create_model
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.vocabulary import Role
from waiting import open_files

HELLO = (RequestMessage(role=Role.USER, text="hello"),)

REFUSES = """\
import sys
sys.modules[{name!r}] = None
from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.models import create_model
try:
    create_model({name!r} + ":m")
except ModelError as told:
    print(told)
"""


def python(code):
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout


class TestNames:
    def test_a_script(self, tmp_path):
        path = tmp_path / "turns.jsonl"
        path.write_text('{"text": "hi"}\n')

        model = create_model(f"script:{path}")

        assert model.reply(Request(messages=()), lambda _: None).text == "hi"

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("opnai:gpt-5", "unknown model provider `opnai`: did you mean `openai`?"),
            (
                "gpt-5",
                "unknown model provider `gpt-5`: known here: `anthropic`, `openai`, `script`",
            ),
            ("openai", "the name of the model is missing: write `openai:NAME`"),
            ("openai:", "the name of the model is missing: write `openai:NAME`"),
            ("script:", "the name of the model is missing: write `script:NAME`"),
        ],
    )
    def test_one_that_is_none(self, name, told):
        with pytest.raises(ModelError) as wrong:
            create_model(name)

        assert str(wrong.value) == told

    @pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/", "http://", "https:///v1", "x y"])
    def test_an_address_that_is_none(self, provider, url):
        with pytest.raises(ModelError, match=r"is not a server address|cannot connect"):
            create_model(f"{provider.name}:m", base_url=url)


class TestKeys:
    @pytest.mark.parametrize("name", ["openai", "anthropic"])
    def test_none_is_told_before_anything_is_sent(self, name, monkeypatch):
        monkeypatch.delenv(f"{name.upper()}_API_KEY")

        with pytest.raises(ModelError) as told:
            create_model(f"{name}:m")

        assert (
            str(told.value)
            == f"no API key found: set the environment variable `{name.upper()}_API_KEY`"
        )

    @pytest.mark.parametrize("key", ["sk a", "sk\na", "schlüssel"])
    def test_one_that_cannot_be_one_is_not_shown(self, provider, monkeypatch, key):
        variable = f"{provider.name.upper()}_API_KEY"
        monkeypatch.setenv(variable, key)

        with pytest.raises(ModelError) as told:
            create_model(f"{provider.name}:m")

        assert str(told.value) == f"`{variable}` has characters that are invalid in a key"

    def test_it_is_sent_with_the_request(self, provider, server, keys):
        server.answers = [provider.stream("x")]

        provider.model().reply(Request(messages=HELLO), lambda _: None)

        assert server.asked[0].headers["authorization"] == f"Bearer {keys}"

    def test_a_token_of_anthropic_will_do(self, anthropic, server, monkeypatch):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")
        server.answers = [anthropic.stream("x")]

        anthropic.model().reply(Request(messages=HELLO), lambda _: None)

        assert server.asked[0].headers["authorization"] == "Bearer a-token"

    def test_files_of_keys_are_not_looked_for(self, anthropic, monkeypatch, tmp_path):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
        monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))

        with pytest.raises(ModelError, match="no API key found"):
            anthropic.model()


class TestSent:
    def test_everything_arrives_through_the_real_packages(self, provider, server):
        server.answers = [provider.stream("x")]
        options = ModelOptions(max_tokens=9, temperature=0.5, reasoning_effort="low")
        model = provider.model()

        model.reply(Request(messages=HELLO, options=options), lambda _: None)

        asked = server.asked[0]
        body = {"model": "m", "stream": True, "temperature": 0.5}
        if provider.name == "openai":
            assert asked.path == "/v1/chat/completions"
            body |= {"messages": [{"role": "user", "content": "hello"}]}
            body |= {"max_completion_tokens": 9, "reasoning_effort": "low"}
            body |= {"stream_options": {"include_usage": True}}
        else:
            assert asked.path == "/v1/messages"
            content = [{"type": "text", "text": "hello"}]
            body |= {"messages": [{"role": "user", "content": content}]}
            body |= {"max_tokens": 9, "output_config": {"effort": "low"}}
            assert asked.headers["anthropic-version"] == "2023-06-01"
        assert asked.body == body

    def test_the_newest_version_is_asked_where_nothing_speaks_against_it(self, anthropic, server):
        server.answers = [anthropic.stream("x")]

        anthropic.model().reply(Request(messages=HELLO), lambda _: None)

        assert server.asked[0].headers["anthropic-version"] > "2023-06-01"

    def test_the_address_of_the_environment_counts_if_none_is_given(
        self, server, monkeypatch, openai
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.answers = [openai.stream("x")]
        model = create_model("openai:m", timeout_s=300)

        model.reply(Request(messages=HELLO), lambda _: None)
        model.close()

        assert len(server.asked) == 1

    def test_connections_are_closed(self, provider, server):
        server.answers = [provider.stream("x")]
        before = open_files()
        model = provider.model()
        for _ in range(3):
            assert model.reply(Request(messages=HELLO), lambda _: None).text == "x"
        model.close()

        server.wait_until_idle()
        assert open_files() <= before


class TestPackages:
    @pytest.mark.parametrize("name", ["openai", "anthropic"])
    def test_one_that_is_missing_is_told_with_its_extra(self, name):
        told = python(REFUSES.format(name=name))

        assert told == f"the package `{name}` is not installed: install `bylaw[{name}]`\n"

    def test_none_is_imported_before_it_is_used(self):
        path = bylaw.hosts.chat.__path__
        names = [module.name for module in pkgutil.walk_packages(path, "bylaw.hosts.chat.")]
        code = f"import importlib, sys\nfor name in {names!r}:\n    importlib.import_module(name)\n"
        code += "print(*sorted({'openai', 'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)))"

        assert "bylaw.hosts.chat.models.openai" in names
        assert python(code) == "\n"
