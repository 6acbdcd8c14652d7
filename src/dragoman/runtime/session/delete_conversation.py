"""Asks an agent to delete the conversation of a deleted session."""

from __future__ import annotations

import asyncio
import logging

from dragoman.errors import DragomanError
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session.spec import spec_of
from dragoman.store import SessionRow, Store
from dragoman.wire.jsonrpc import RpcError

log = logging.getLogger(__name__)
DEADLINE_S = 5.0


async def delete_conversation(row: SessionRow, agents: Agents, store: Store) -> None:
    """Tell the agent, if it is here and heeds it: that a session goes does not depend on it.

    A conversation that was begun elsewhere, or goes on in another session, is not ours to end.
    """
    create, state = row.create, row.state
    borrowed = create.resume is not None and not create.resume.fork
    if state.native_session_id is None or not state.confirmed or borrowed:
        return
    try:
        async with asyncio.timeout(DEADLINE_S):
            if await store.holder(create.agent, state.native_session_id) is None:
                await _tell(row, state.native_session_id, agents, store)
    except (DragomanError, TimeoutError) as error:
        log.info("%s was not told that a session is gone: %s", create.agent, error)


async def _tell(row: SessionRow, native: str, agents: Agents, store: Store) -> None:
    adapter = agents.adapter(row.create.agent)
    if adapter.delete_request is None:
        return
    found = await agents.present(adapter, row.create.agent_version)
    said = adapter.delete_request(native, True)
    if found is not None and said is not None:
        env = agents.registry.env_of(adapter.id)
        launch = adapter.launch(spec_of(row, row.state, env), found.command)
        reply = await agents.servers.ask(adapter, launch, found.version, said, store)
        if isinstance(reply, RpcError):
            log.info("%s keeps what it has of a session: %s", adapter.name, reply.message)
