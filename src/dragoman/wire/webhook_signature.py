"""Signatures of webhooks, as Standard Webhooks has them. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac

PREFIX = "whsec_"
MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64
RULE = f'it must be "{PREFIX}" and the base64 of {MIN_KEY_BYTES} to {MAX_KEY_BYTES} random bytes'


def secret_of(key: bytes) -> str:
    """A key as people pass it on."""
    return PREFIX + base64.b64encode(key).decode()


def signing_key(secret: str) -> bytes:
    """The key in a secret. Raise ValueError where it is none."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise ValueError(RULE) from None
    if not secret.startswith(PREFIX) or not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise ValueError(RULE)
    return key


def signature(key: bytes, webhook_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature`: over id, time and body, so none can be exchanged."""
    content = b"%b.%d.%b" % (webhook_id.encode(), timestamp_s, body)
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
