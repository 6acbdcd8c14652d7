"""Record the mock agent's cases anew, through a real daemon.

`python -m tests.agents.mock.rerecord [CASE...]`. Afterwards `make goldens`, and read what changed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.agents.mock.launch import COMMAND
from tests.daemon import Daemon, running

HERE = Path(__file__).parent


def text(daemon: Daemon) -> None:
    """Two turns of plain text."""
    daemon.turn("case", "say hello there")
    daemon.turn("case", "markdown")


def thoughts(daemon: Daemon) -> None:
    """Reasoning, a helper, status, an image, something unknown."""
    for prompt in ("reasoning", "subagent", "status", "image", "unknown", "usage"):
        daemon.turn("case", prompt)


def tools(daemon: Daemon) -> None:
    """Tools, one of which fails."""
    daemon.turn("case", "tool")


def permission(daemon: Daemon) -> None:
    """A permission given once, refused with words, and given for the session."""
    for reply in ({"reply": "once"}, {"reply": "reject", "message": "Not now."}):
        ask(daemon, "permission", "permission", reply)
    ask(daemon, "permission", "permission", {"reply": "always"})
    daemon.turn("case", "permission")


def question(daemon: Daemon) -> None:
    """Questions answered, and rejected."""
    ask(daemon, "questions", "question", {"answers": [["Red"], ["Apple", "Pear"]]})
    ask(daemon, "question", "question", None)


def error(daemon: Daemon) -> None:
    """A turn that fails, and one after it."""
    daemon.turn("case", "error")
    daemon.turn("case", "say better now")


def interrupt(daemon: Daemon) -> None:
    """A turn that is interrupted while it speaks, and one while it asks."""
    with cut_short(daemon, "hang", "item.delta"):
        pass
    with cut_short(daemon, "permission", "permission.requested"):
        pass


def end(daemon: Daemon) -> None:
    """The agent says goodbye."""
    daemon.send("case", "end")
    daemon.wait_for("case", "session.ended")


def crash(daemon: Daemon) -> None:
    """The process dies in a turn, and the next one resumes."""
    daemon.turn("case", "crash")
    daemon.turn("case", "say here again")


def unparsed(daemon: Daemon) -> None:
    """A line that the dialect does not have."""
    daemon.turn("case", "unparsed")


CASES: tuple[Callable[[Daemon], None], ...] = (
    text, thoughts, tools, permission, question, error, interrupt, end, crash, unparsed,
)  # fmt: skip


def ask(daemon: Daemon, prompt: str, kind: str, answer: object) -> None:
    """A turn that waits for a person, and the answer; None rejects."""
    before = daemon.events("case")[-1]["sequence"]
    daemon.send("case", prompt)
    request = daemon.wait_for("case", f"{kind}.requested", before)["data"][f"{kind}_id"]
    verb = "reject" if answer is None else "reply"
    reply = daemon.request("POST", f"/sessions/case/{kind}s/{request}/{verb}", answer)
    assert reply.status == 204, reply.body
    daemon.wait_for("case", "turn.ended", before)


@contextmanager
def cut_short(daemon: Daemon, prompt: str, sign: str) -> Iterator[None]:
    """A turn that is interrupted at a sign."""
    before = daemon.events("case")[-1]["sequence"]
    daemon.send("case", prompt)
    shown = daemon.wait_for("case", "item.completed", before)  # the person's own words
    daemon.wait_for("case", sign, shown["sequence"])
    yield
    assert daemon.request("POST", "/sessions/case/interrupt").status == 204
    daemon.wait_for("case", "turn.ended", before)


def record(case: Callable[[Daemon], None], folder: Path) -> None:
    """Record one case into its folder."""
    out = folder / "transcript.jsonl"
    out.unlink(missing_ok=True)
    recorder = [sys.executable, "-P", "-m", "dragoman.cli.main", "record", "--agent=mock"]
    command = " ".join([*recorder, f"--out={out}", "--", *COMMAND])
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(scratch, "workspace")
        workspace.mkdir()
        env = {"DRAGOMAN_MOCK_COMMAND": command, "PYTHONPATH": ":".join(sys.path)}
        with running(Path(scratch, "data"), env=env) as daemon:
            daemon.create("case", directory=str(workspace))
            case(daemon)


def main() -> None:
    """Record all of them, or those that are named."""
    for case in CASES:
        if case.__name__ in (sys.argv[1:] or [each.__name__ for each in CASES]):
            folder = HERE / case.__name__
            folder.mkdir(exist_ok=True)
            record(case, folder)
            sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    main()
