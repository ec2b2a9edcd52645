"""A picture's address → its parts, or why it cannot be sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.hosts.chat.messages import Image, Sent

# What both providers take.
_DATA = re.compile(r"data:(image/(?:jpeg|png|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")
_ADDRESSES = ("https://", "http://")


def inline_parts(image: Image) -> tuple[str, str] | None:
    """Media type and base64 of a `data:` URI; None for an address; ModelError for anything else."""
    if image.url.startswith(_ADDRESSES):
        return None
    if found := _DATA.fullmatch(image.url):
        return found[1], found[2]
    raise ModelError(
        f"`{brief(image.url)}` is no picture that can be sent: "
        "a web address or base64 of a JPEG, PNG, GIF or WebP is needed"
    )


def refuse_pictures(message: Sent) -> None:
    """ModelError if there is a picture where the provider takes none."""
    if message.images:
        raise ModelError(
            f"a picture cannot be sent in a message of role `{message.role}`: "
            "put it into a user's message"
        )
