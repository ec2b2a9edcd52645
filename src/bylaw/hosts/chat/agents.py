"""Run an agent of a chat: another ChatMD file, as a chat inside the chat.

The file of the agent is copied below the state folder and the copy becomes its transcript, so that
it can be read afterwards. The agent belongs to the session of the chat that runs it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.model.errors import BylawError
from bylaw.model.visible import brief
from bylaw.runtime.paths import as_bytes, folder_of, lies_in, name_from, real_path
from bylaw.runtime.reading import read_regular_file
from bylaw.runtime.root import absolute
from bylaw.runtime.state_folder import STATE, state_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.stage import Stage

# Agents can run agents. This is the greatest depth.
MAX_AGENT_DEPTH = 3
AGENTS = "agents"


class AgentRunner:
    """Runs the agents of one chat. Paths are relative to the folder of the chat file."""

    def __init__(self, stage: Stage, location: str, session: str, agent: str) -> None:
        self._stage = stage
        self._folder = folder_of(location)
        self._session = session
        self._agent = agent

    def run(self, src: str, given: str) -> str:
        """Run the agent in file `src` and return its last message.

        Raises BylawError if the agent gives no answer.
        """
        location = self._location(src)
        name = name_from(self._stage.root, location)
        depth = len(self._agent.split("/")) + 1 if self._agent else 1
        if depth > MAX_AGENT_DEPTH:
            message = f"agents can be nested at most {MAX_AGENT_DEPTH} deep"
            raise BylawError(message)
        prompt = read_regular_file(location, name).text
        agent = "/".join(filter(None, (self._agent, name.replace("/", "."))))
        path = self._copy(name, prompt)
        with ChatFile(path, self._stage.root, name) as file:
            driver = self._stage.driver(file, location, session=self._session, agent=agent)
            if given.strip():
                driver.prompt(given)
            else:  # no input: the agent answers its own file
                driver.owes_turn = True
            driver.answer()
            file.forget()
            return _last_words(driver.transcript.blocks, driver.stopped, src)

    def _location(self, src: str) -> str:
        location = real_path(absolute(src, self._folder))
        if not lies_in(location, real_path(self._stage.root)):
            raise BylawError(f"the agent `{brief(src)}` is outside the root")
        return location

    def _copy(self, name: str, prompt: str) -> str:
        """Write the prompt to a new file in the state folder and return its path."""
        stem = name.rpartition("/")[2].removesuffix(".chatmd")
        with state_folder(self._stage.root):
            folder = f"{real_path(self._stage.root)}/{STATE}/{AGENTS}"
            with suppress(FileExistsError):
                os.mkdir(as_bytes(folder), 0o700)  # noqa: PTH102 - Path rejects bytes
            path = f"{folder}/{stem}-{os.urandom(6).hex()}.chatmd"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(as_bytes(path), flags, 0o600), "wb") as stream:  # noqa: PTH123 - same
                stream.write(prompt.encode())
        return path


def _last_words(blocks: Sequence[Block], stopped: str, src: str) -> str:
    said = [block.text for block in blocks if block.by_model and block.kind is BlockKind.MESSAGE]
    if stopped or not said:
        raise BylawError(
            f"the agent `{brief(src)}` gave no answer" + (f": {stopped}" * bool(stopped))
        )
    return said[-1]
