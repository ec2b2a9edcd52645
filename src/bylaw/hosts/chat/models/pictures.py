"""The address of an image → its parts, or the reason why it cannot be sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.hosts.chat.messages import Image, Sent

# What both providers accept.
_DATA = re.compile(r"data:(image/(?:jpeg|png|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")
_ADDRESSES = ("https://", "http://")


def inline_parts(image: Image) -> tuple[str, str] | None:
    """Return media type and base64 of a `data:` URI, None for a web address.

    Raises ModelError for anything else.
    """
    if image.url.startswith(_ADDRESSES):
        return None
    if found := _DATA.fullmatch(image.url):
        return found[1], found[2]
    raise ModelError(
        f"cannot send the image `{brief(image.url)}`: "
        "it must be a web address or base64 of a JPEG, PNG, GIF or WebP"
    )


def refuse_pictures(message: Sent) -> None:
    """Raise ModelError if a message has an image and its role does not allow one."""
    if message.images:
        raise ModelError(
            f"cannot send an image in a message of role `{message.role}`: move it to a user message"
        )
