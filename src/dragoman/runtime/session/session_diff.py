"""The diff of a session, or of one of its turns, for who asks for it."""

from __future__ import annotations

from dragoman.errors import NotFound, Unavailable
from dragoman.runtime.session.file_events import options_of
from dragoman.runtime.session.workspaces import Workspaces, tree_name
from dragoman.schema.events import TurnDiff, TurnStarted
from dragoman.schema.http import SessionDiff
from dragoman.settings import Settings
from dragoman.store import SessionRow, Store
from dragoman.workspace.git import GitError
from dragoman.workspace.workspace import Workspace

WINDOW = 4096
"""So many events are looked at together for those of a turn, from the last one back."""


async def find_diff(
    row: SessionRow,
    turn_id: str | None,
    store: Store,
    workspaces: Workspaces,
    settings: Settings,
) -> SessionDiff:
    """Raise NotFound where there is no such turn, or nothing is kept; Unavailable where git fails.

    That of a session that has ended is up to its last turn's end, else up to now.
    """
    if turn_id is not None:
        return await _of_turn(row.session_id, turn_id, store)
    if options_of(row, settings) is None:
        raise NotFound(f"session {row.session_id!r} keeps no diffs: its fileEvents are off")
    try:
        with workspaces.visit(row.directory) as workspace:
            return await _of_session(row, workspace, settings)
    except GitError as error:
        raise Unavailable(f"the diff cannot be made: {error}") from None


async def _of_session(row: SessionRow, workspace: Workspace, settings: Settings) -> SessionDiff:
    snapshots = workspace.snapshots
    start = await workspace.run(snapshots.recall, tree_name(row.session_id, "start"))
    if start is None:
        return SessionDiff(diff="")
    now = None
    if row.state.ended:
        now = await workspace.run(snapshots.recall, tree_name(row.session_id, "end"))
    if now is None:
        now = await workspace.snapshot(settings.diff_deadline_s)
    after = now
    patch = await workspace.run(
        lambda: snapshots.diff(
            start, after, most_bytes=settings.max_diff_bytes, deadline_s=settings.diff_deadline_s
        )
    )
    return SessionDiff(diff=patch.text, truncated=patch.truncated)


async def _of_turn(session_id: str, turn_id: str, store: Store) -> SessionDiff:
    last, _ = await store.position(session_id)
    for until in range(last, 0, -WINDOW):
        found = await store.search(session_id, f'"turn_id":"{turn_id}"', until - WINDOW, until)
        for body in found:
            if isinstance(body, TurnDiff) and body.turn_id == turn_id:
                return SessionDiff(diff=body.diff, truncated=bool(body.truncated))
        if any(isinstance(body, TurnStarted) and body.turn_id == turn_id for body in found):
            return SessionDiff(diff="")
    raise NotFound(f"there is no turn {turn_id!r} in session {session_id!r}")
