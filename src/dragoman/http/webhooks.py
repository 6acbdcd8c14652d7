"""Handlers for webhooks."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response

from dragoman.http.context import daemon_of
from dragoman.http.parse import body, no_body
from dragoman.http.responses import answer, nothing
from dragoman.schema.webhooks import AddWebhook, PatchWebhook

log = logging.getLogger(__name__)


async def list_webhooks(request: Request) -> Response:
    """All webhooks, without their secrets."""
    return answer(await daemon_of(request.scope).webhooks.all())


async def add_webhook(request: Request) -> Response:
    """Add a receiver, and show its secret this once."""
    daemon = daemon_of(request.scope)
    wanted = await body(request, AddWebhook, daemon.settings.max_body_bytes)
    added = await daemon.webhooks.add(wanted)
    log.info("webhook %s was added", added.id)
    return answer(added, 201, {"Location": f"/v1/hooks/{added.id}"})


async def get_webhook(request: Request) -> Response:
    """One webhook, and how it does."""
    return answer(await daemon_of(request.scope).webhooks.get(request.path_params["hook_id"]))


async def update_webhook(request: Request) -> Response:
    """Change where events are sent, which, or whether."""
    daemon, hook_id = daemon_of(request.scope), request.path_params["hook_id"]
    wanted = await body(request, PatchWebhook, daemon.settings.max_body_bytes)
    changed = await daemon.webhooks.change(hook_id, wanted)
    log.info("webhook %s was changed", hook_id)
    return answer(changed)


async def remove_webhook(request: Request) -> Response:
    """Send nothing more to a receiver."""
    daemon, hook_id = daemon_of(request.scope), request.path_params["hook_id"]
    await daemon.webhooks.remove(hook_id)
    log.info("webhook %s was removed", hook_id)
    return nothing()


async def test_webhook(request: Request) -> Response:
    """Send a request that is no event, and tell what the receiver answered."""
    daemon = daemon_of(request.scope)
    await no_body(request, daemon.settings.max_body_bytes)
    return answer(await daemon.webhooks.test(request.path_params["hook_id"]))
