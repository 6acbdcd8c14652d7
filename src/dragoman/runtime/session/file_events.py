"""What a session tells of the files in its directory: each change, live, and each turn's diff."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Sequence

from msgspec import UNSET

from dragoman.runtime.session.containment import is_beneath
from dragoman.runtime.session.workspaces import TreeName, Workspaces, tree_name
from dragoman.schema.events import Body, FileChanged, SandboxFile, TurnDiff
from dragoman.schema.file_events import FileEventOptions
from dragoman.settings import Settings
from dragoman.store import SessionRow
from dragoman.wire.patch import Patch
from dragoman.workspace.git import GitError, has_git
from dragoman.workspace.workspace import FileEvent, FileListener, Workspace

log = logging.getLogger(__name__)

MOST_EVENTS, PERIOD_S = 20_000, 60.0
"""So many files are told of one by one in such a time; of the rest only how many there were."""


def file_events_off(row: SessionRow, settings: Settings) -> bool:
    """Whether nobody wants to hear of a session's files."""
    given = row.create.file_events
    return given is False or (given is None and not settings.file_events)


def options_of(row: SessionRow, settings: Settings) -> FileEventOptions | None:
    """What a session tells of its files; None: nothing."""
    if file_events_off(row, settings):
        return None
    if is_beneath(settings.data_dir, [row.directory]):
        return None  # what we write there would be told, and written, without end
    given = row.create.file_events
    own = given if isinstance(given, FileEventOptions) else FileEventOptions()
    return FileEventOptions(
        ignore=(*settings.file_events_ignore, *own.ignore),
        gitignore=settings.file_events_gitignore if own.gitignore is None else own.gitignore,
        diff=settings.file_events_diff if own.diff is None else own.diff,
    )


class FileEvents:
    """One session's directory. `wake` is called when there is something to tell."""

    def __init__(
        self,
        row: SessionRow,
        workspaces: Workspaces,
        settings: Settings,
        wake: Callable[[], None],
    ) -> None:
        self._session_id = row.session_id
        self._directory = row.directory
        self._options = options_of(row, settings)
        self._workspaces = workspaces
        self._deadline_s = settings.diff_deadline_s
        self._max_diff_bytes = settings.max_diff_bytes
        self._wake = wake
        self._workspace: Workspace | None = None
        self._listener: FileListener | None = None
        self._waiting: list[Body] = []
        self._problem: str | None = None
        self._budget = _Budget()
        self._has_changed = False
        """Something happened to a file since the turn began."""
        self._has_begun = False
        """The directory was looked at for the turn that runs, or is about to."""

    # --- Changes, live ---

    def open(self) -> None:
        """Tell what happens from now on."""
        if self._options is None or self._listener is not None:
            return
        self._listener = FileListener(self._directory, self._options, self._deliver, self._complain)
        self._workspace = self._workspaces.enter(self._directory)
        self._workspace.listen(self._listener)

    def close(self) -> None:
        """Tell nothing more."""
        if self._listener is not None and self._workspace is not None:
            self._workspace.leave(self._listener)
            self._workspaces.leave(self._workspace)
            self._listener = self._workspace = None

    async def ready(self, deadline_s: float) -> None:
        """Wait until nothing that happens is missed; at most so long."""
        if self._workspace is not None:
            await asyncio.wait([asyncio.ensure_future(self._workspace.ready())], timeout=deadline_s)

    def take(self) -> list[Body]:
        """What is to be told."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def take_problem(self) -> str | None:
        """Why less is told than happens, where that was not told yet."""
        problem, self._problem = self._problem, None
        return problem

    def _deliver(self, events: Sequence[FileEvent]) -> None:
        self._has_changed = True
        room = self._budget.take(len(events))
        self._waiting += events[:room]
        if room < len(events):
            self._waiting.append(_summary(events[room:]))
        self._wake()

    def _complain(self, problem: str) -> None:
        self._problem = problem
        self._wake()

    # --- Turns ---

    async def begin_turn(self) -> None:
        """Look at the directory before the agent hears of its work."""
        if self._options is None:
            return
        self.open()
        assert self._workspace is not None
        assert self._listener is not None
        self._has_begun, self._has_changed = True, False
        self._workspace.set_busy(True)
        if not has_git():
            await self._workspace.ready()
            return
        try:
            await asyncio.wait_for(self._look(self._workspace), self._deadline_s)
        except (GitError, TimeoutError) as error:
            log.warning("session %s: the turn has no diff: %s", self._session_id, _why(error))
            await self._forget_turn(self._workspace)

    async def _look(self, workspace: Workspace) -> None:
        _, tree = await asyncio.gather(workspace.ready(), workspace.snapshot(self._deadline_s))
        head = await workspace.run(workspace.snapshots.head, self._deadline_s)
        if self._listener is not None:
            self._listener.base = head or tree
        await workspace.run(self._remember, workspace, tree, head)

    def _remember(self, workspace: Workspace, tree: str, head: str | None) -> None:
        snapshots = workspace.snapshots
        snapshots.remember(self._name("turn"), tree)
        snapshots.remember(self._name("head"), head or tree)
        if snapshots.recall(self._name("start")) is None:
            snapshots.remember(self._name("start"), tree)

    async def _forget_turn(self, workspace: Workspace) -> None:
        with contextlib.suppress(GitError):  # the next turn replaces what could not be removed
            for name in ("turn", "head"):
                await workspace.run(workspace.snapshots.remember, self._name(name), None)

    @property
    def needs_turn(self) -> bool:
        """A turn has begun for which the directory was not looked at."""
        return self._options is not None and not self._has_begun

    async def end_turn(self, turn_id: str) -> list[Body]:
        """What the turn has changed, and whatever was not told yet."""
        if self._options is None:
            return []
        if self._has_begun and self._workspace is not None:
            self._workspace.set_busy(False)
        self._has_begun = False
        if not has_git():
            return self.take()
        with self._workspaces.visit(self._directory) as workspace:
            try:
                changes = await asyncio.wait_for(
                    self._changes(workspace, turn_id), self._deadline_s
                )
            except (GitError, TimeoutError) as error:
                changes = self._unknown(turn_id, _why(error))
            await self._forget_turn(workspace)
            workspace.prune()
        return [*self.take(), *changes]

    async def _changes(self, workspace: Workspace, turn_id: str) -> list[Body]:
        snapshots = workspace.snapshots
        tree, head = await workspace.run(
            lambda: (snapshots.recall(self._name("turn")), snapshots.recall(self._name("head")))
        )
        if tree is None or head is None:
            return self._unknown(turn_id, "the directory was too large to be looked at")
        now = await workspace.snapshot(self._deadline_s)
        if now == tree:
            return []
        of_turn = await self._diff(workspace, tree, now)
        whole = of_turn if tree == head else await self._diff(workspace, head, now)
        await workspace.settle(
            f"{self._directory}/{path}"
            for file in of_turn.files
            for path in (file.path, file.old_path)
            if path is not None
        )
        await workspace.run(snapshots.remember, self._name("end"), now)
        return [
            FileChanged(diff=whole.text, truncated=whole.truncated or UNSET),
            TurnDiff(turn_id=turn_id, diff=of_turn.text, truncated=of_turn.truncated or UNSET),
        ]

    async def _diff(self, workspace: Workspace, before: str, after: str) -> Patch:
        return await workspace.run(
            lambda: workspace.snapshots.diff(
                before, after, most_bytes=self._max_diff_bytes, deadline_s=self._deadline_s
            )
        )

    def _unknown(self, turn_id: str, why: str) -> list[Body]:
        """Something changed, and nobody can say how."""
        if not self._has_changed:
            return []
        diff = f"# left out: {why}\n"
        return [
            FileChanged(diff=diff, truncated=True),
            TurnDiff(turn_id=turn_id, diff=diff, truncated=True),
        ]

    def _name(self, name: TreeName) -> str:
        return tree_name(self._session_id, name)


class _Budget:
    """How many events may be told, of which some come back with time."""

    def __init__(self) -> None:
        self._rest = float(MOST_EVENTS)
        self._at = 0.0

    def take(self, wanted: int) -> int:
        now = asyncio.get_running_loop().time()
        back = (now - self._at) * MOST_EVENTS / PERIOD_S
        self._rest, self._at = min(self._rest + back, MOST_EVENTS), now
        taken = min(wanted, int(self._rest))
        self._rest -= taken
        return taken


def _summary(events: Sequence[FileEvent]) -> SandboxFile:
    paths = [os.path.dirname(event.path) for event in events]
    times = [event.timestamp for event in events if isinstance(event, SandboxFile)]
    return SandboxFile(
        change="change",
        path=os.path.commonpath(paths),
        timestamp=max(times, default=0),
        count=len({event.path for event in events}),
    )


def _why(error: Exception) -> str:
    return str(error) or "it took too long"
