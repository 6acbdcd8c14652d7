"""A crowd around one daemon: it talks, changes its mind, answers twice, and kills."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import defaultdict
from contextlib import suppress
from http.client import HTTPResponse
from typing import Any

from dragoman.runtime.processes import linux
from tests.daemon import Daemon, Reply
from tests.torture.clients import GONE, Reader, Up, agents_of

SESSIONS, PEOPLE, READERS = 50, 10, 8
SINGS = (
    "say la la la", "say " + "la " * 300, "pid", "odd", "stray", "stranger", "child la",
    "ask_for tea", "ask_for tea", "ask_for tea", "ask_for tea", "wait la", "crash 3", "mute",
    "late", "deaf",
)  # fmt: skip
PROMPTS = {
    "mock": (
        "help", "demo", "markdown", "reasoning", "tools", "status", "image", "unknown", "subagent",
        "usage", "error", "unparsed", "garbage", "echo hi", "slow 30", "burst 500 300",
        "huge 300000", "permission", "permission", "edit", "questions", "questions", "hang",
        "crash", "spawn-children", "ignore-sigterm", "end",
    ),
    "shared": SINGS,
    "dedicated": SINGS,
    "perturn": ("hello", "hello", "fail", "linger", "ignore", "crash"),
}  # fmt: skip
"""What the agents of each lifetime understand: a process for a session, for many, for a turn."""
CAST = ("mock", "mock", "mock", "shared", "shared", "shared", "dedicated", "perturn")
RARE = {
    "hang", "crash", "spawn-children", "ignore-sigterm", "end", "huge 300000", "wait la", "mute",
    "late", "linger", "ignore",
}  # fmt: skip
RAREST = {"crash 3", "deaf"}
"""They cost everybody else on the same process a turn, too."""
SERVER = 0.15
"""How often it is a process that sessions share, when one is killed."""
STATUS = {"once": "accept", "always": "accept_for_session", "reject": "reject"}


class Records:
    """What the crowd was told; at the end the streams must agree with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sessions: list[str] = []
        self.open: list[str] = []
        """Those that people talk to; one that ends is replaced."""
        self.cast: dict[str, str] = {}
        """The agent of each session."""
        self.deleted: set[str] = set()
        self.accepted: dict[str, set[str]] = defaultdict(set)
        self.cancelled: set[str] = set()
        self.unsure: dict[str, int] = defaultdict(int)
        """How many sends of a session were cut off, and never heard of again."""
        self.agreed: dict[str, set[str]] = defaultdict(set)
        """Request → the statuses that a reply with 204 stands for."""
        self.surprises: list[str] = []
        self.acts: dict[str, int] = defaultdict(int)


class Person(threading.Thread):
    """Does whatever comes to mind, to any session, until it is over."""

    def __init__(self, daemon: Daemon, up: Up, records: Records, seed: int) -> None:
        super().__init__(daemon=True)
        self._daemon = daemon
        self._up = up
        self._records = records
        self._dice = random.Random(seed)
        self._name = f"p{seed % 1000}"
        self._made = 0
        self._keys = 0
        self._pause = threading.Event()

    def run(self) -> None:
        """Act, again and again; a daemon that dies meanwhile is waited for."""
        acts = (
            (self._send, 30), (self._reply, 30), (self._interrupt, 8), (self._queue_and_cancel, 8),
            (self._patch, 8), (self._terminate, 2), (self._delete, 1), (self._look, 8),
        )  # fmt: skip
        while not self._up.over:
            self._up.wait()
            (act,) = self._dice.choices([act for act, _ in acts], [weight for _, weight in acts])
            with suppress(*GONE):
                act()
                self._records.acts[act.__name__] += 1
            self._pause.wait(self._dice.uniform(0, 0.1))

    def create(self) -> str | None:
        """Make a session to talk to; None: the daemon could not."""
        self._made += 1
        name = f"{self._name}-{self._made}"
        agent = self._dice.choice(CAST)
        with self._records.lock:
            self._records.sessions.append(name)  # also if the answer is lost, it may be there
            self._records.cast[name] = agent
        mode = self._dice.choice(["default", "default", "bypass", "acceptEdits"])
        env = {"VOICE": self._dice.choice(["bass", "alto"])}  # for each there is a process
        body = {"agent": agent, "permissionMode": mode, "env": env}
        reply = self._ask("POST", f"/sessions/{name}", body, expected=(200,))
        if reply.status != 200:
            return None
        with self._records.lock:
            self._records.open.append(name)
        return name

    def _any(self) -> str:
        with self._records.lock:
            return self._dice.choice(self._records.open)

    def _ask(
        self, method: str, path: str, body: Any = None, *, expected: tuple[int, ...], key: str = ""
    ) -> Reply:
        reply = self._daemon.request(method, path, body, {"Idempotency-Key": key} if key else {})
        if reply.status not in (*expected, 404, 410, 429, 503):
            self._records.surprises.append(f"{method} {path} {body}: {reply.body!r}")
        if reply.status in (404, 410):
            self._replace(path.split("/")[2])
        return reply

    def _replace(self, ended: str) -> None:
        """Somebody ended this session: another one takes its place."""
        with self._records.lock:
            if ended not in self._records.open:
                return
            self._records.open.remove(ended)
        self.create()

    # --- What comes to mind ---

    def _prompt(self, agent: str) -> str:
        prompts = PROMPTS[agent]
        weights = [1 if each in RAREST else 5 if each in RARE else 20 for each in prompts]
        return self._dice.choices(prompts, weights)[0]

    def _send(self) -> tuple[str, str | None]:
        """Send until there is an answer; the session, and the message's id if it was accepted."""
        session = self._any()
        prompt = self._prompt(self._records.cast[session])
        self._keys += 1
        key = f"{self._name}-{self._keys}"
        cut = False
        while not self._up.over:
            self._up.wait()
            try:
                reply = self._ask("POST", f"/sessions/{session}/messages", {"message": prompt},
                                  expected=(204,), key=key)  # fmt: skip
            except GONE:
                cut = True
                continue
            if reply.status == 204:
                message_id = reply.headers["dragoman-message-id"]
                with self._records.lock:
                    self._records.accepted[session].add(message_id)
                return session, message_id
            if reply.status != 503:
                break
        if cut:
            with self._records.lock:
                self._records.unsure[session] += 1
        return session, None

    def _reply(self) -> None:
        """Answer something that is asked, often twice, and not always the same."""
        session = self._any()
        reply = self._ask("GET", f"/sessions/{session}/pending", expected=(200,))
        if reply.status != 200:
            return
        asked = [("permissions", each["permission_id"]) for each in reply.json["permissions"]]
        asked += [("questions", each["question_id"]) for each in reply.json["questions"]]
        for kind, request in asked:
            for _ in range(self._dice.choice([1, 1, 2, 3])):
                self._answer(session, kind, request)

    def _answer(self, session: str, kind: str, request: str) -> None:
        path = f"/sessions/{session}/{kind}/{request}/reply"
        if kind == "permissions":
            given = self._dice.choice(["once", "always", "reject"])
            status = STATUS[given]
            reply = self._ask("POST", path, {"reply": given}, expected=(204, 409))
        elif self._dice.random() < 0.2:
            status = "rejected"
            reply = self._ask("POST", path.replace("/reply", "/reject"), expected=(204, 409))
        else:
            colour = self._dice.choice(["Red", "Blue"])
            status = f"answered {colour}"
            reply = self._ask("POST", path, {"answers": [[colour], ["Pear"]]}, expected=(204, 409))
        if reply.status == 204:
            with self._records.lock:
                self._records.agreed[request].add(status)

    def _interrupt(self) -> None:
        self._ask("POST", f"/sessions/{self._any()}/interrupt", expected=(204,))

    def _queue_and_cancel(self) -> None:
        session, message_id = self._send()
        if message_id is None:
            return
        path = f"/sessions/{session}/pending/{message_id}"
        try:
            taken_back = self._ask("DELETE", path, expected=(204, 409)).status == 204
        except GONE:
            taken_back = True  # perhaps: then it is shown at most once, as one that was
        if taken_back:
            with self._records.lock:
                self._records.cancelled.add(message_id)

    def _patch(self) -> None:
        change = self._dice.choice([
            {"title": f"title {self._keys}"}, {"model": "mock-large"}, {"variant": "high"},
            {"permissionMode": "bypass"}, {"permissionMode": "default"}, {"agentMode": "plan"},
        ])  # fmt: skip
        self._ask("PATCH", f"/sessions/{self._any()}", change, expected=(200,))

    def _terminate(self) -> None:
        session = self._any()
        if self._ask("POST", f"/sessions/{session}/terminate", expected=(204,)).status == 204:
            self._replace(session)

    def _delete(self) -> None:
        with self._records.lock:
            # What is read by slow readers is compared with the store in the end.
            deletable = self._records.open[READERS:]
            if not deletable:
                return
            session = self._dice.choice(deletable)
            self._records.deleted.add(session)
        if self._ask("DELETE", f"/sessions/{session}", expected=(204,)).status == 204:
            self._replace(session)

    def _look(self) -> None:
        """Follow a turn for a while, and go away in the middle of it."""
        path = f"/sessions/{self._any()}/events/sse?include_raw={self._dice.randrange(2)}"
        with self._daemon.stream(path) as stream:
            if stream.status == 200:
                next(iter(stream), None)


class SlowReader(Reader):
    """Takes a little at a time, and dawdles."""

    def __init__(self, daemon: Daemon, up: Up, session_id: str, seed: int) -> None:
        super().__init__(daemon, up, session_id)
        self._dice = random.Random(seed)
        self._pause = threading.Event()

    def _take(self, answer: HTTPResponse) -> None:
        answer.read1 = self._sips(answer.read1)  # type: ignore[method-assign]
        super()._take(answer)

    def _sips(self, read1: Any) -> Any:
        def sip(size: int) -> bytes:
            if not self._up.over:
                self._pause.wait(self._dice.uniform(0, 0.05))
            taken: bytes = read1(4096 if not self._up.over else size)
            return taken

        return sip


def kill_an_agent(daemon: Daemon, dice: random.Random) -> str | None:
    """SIGKILL for one process that an agent of this daemon is, or has started; which kind."""
    living = agents_of(daemon.data_dir)
    shared = {pid for pid in living if ":server:" in (linux.mark_on(pid) or "")}
    wanted = sorted(shared) if dice.random() < SERVER else [p for p in living if p not in shared]
    if not wanted:
        return None
    pid = dice.choice(wanted)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return "kills of servers" if pid in shared else "kills of agents"
