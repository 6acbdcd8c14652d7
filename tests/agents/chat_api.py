"""What agents send to a model that speaks OpenAI's Chat Completions."""

from __future__ import annotations

import base64
from typing import Any


def images_of(body: Any) -> list[tuple[str, bytes]]:
    """Type and content of the images in a request."""
    said = [each["content"] for each in body["messages"] if each["role"] == "user"]
    parts = [part for content in said if isinstance(content, list) for part in content]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [(url[5:].partition(";")[0], base64.b64decode(url.partition(",")[2])) for url in urls]
