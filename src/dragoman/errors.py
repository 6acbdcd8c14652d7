"""Everything we raise.

DragomanError
├── RequestError                 the caller's mistake            → 4xx
│   ├── InvalidRequest           400
│   │   ├── UnsupportedAgent     400
│   │   │   └── AgentGone        400, of a session that is there
│   │   └── ModeNotSupported     400
│   ├── TokenInvalid             401
│   ├── PermissionDenied         403
│   ├── NotFound                 404
│   │   ├── SessionNotFound      404
│   │   └── AgentNotInstalled    404
│   │       └── AgentTooOld      404, of one that is there
│   ├── MethodNotAllowed         405
│   ├── RequestTimeout           408
│   ├── Conflict                 409
│   │   ├── SessionExists        409
│   │   ├── AlreadyResolved      409, names the winner
│   │   └── HistoryDiverged      409, says from where to read again
│   ├── SessionEndedError        410
│   ├── TooLarge                 413
│   ├── UnsupportedMediaType     415
│   ├── RangeNotSatisfiable      416
│   ├── KeyReused                422
│   ├── TooManyRequests          429
│   └── HeadersTooLarge          431
├── BackupFailed                 at the command line only (exit code 1)
└── DaemonError                  we, or the agent, cannot        → 5xx
    ├── InternalError            500
    ├── AgentProcessExited       500
    ├── InstallFailed            500
    │   └── NotInstallable       500; where a session needs the agent, AgentNotInstalled
    ├── Unavailable              503
    ├── DeadlinePassed           504
    ├── StorageFull              507
    └── StartRefused             the daemon does not start (exit code 1, never over HTTP)
        └── WrongSetting         wrong usage (exit code 2)

`status` and `title` are what a problem document says; `http/problems.py` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class DragomanError(Exception):
    """The root. The message is for a person, and says what would be right."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details
        self.agent: str | None = None
        self.session_id: str | None = None


class RequestError(DragomanError):
    """The caller's mistake."""

    status = 400
    title = "Invalid Request"


class InvalidRequest(RequestError):
    """A request that cannot be understood; `details.field` names the part."""


class UnsupportedAgent(InvalidRequest):
    """No adapter has this id."""

    title = "Unsupported Agent"

    def __init__(self, agent: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown agent {agent!r}; known: {', '.join(known)}", field="agent")
        self.agent = agent


class AgentGone(UnsupportedAgent):
    """A session's agent is none of those that this daemon has."""

    def __init__(self, session_id: str, agent: str, known: Sequence[str]) -> None:
        InvalidRequest.__init__(
            self,
            f"session {session_id!r} is one of agent {agent!r}, which this daemon does not have; "
            f"it can be read, ended and deleted. Known: {', '.join(known)}",
        )
        self.agent = agent
        self.session_id = session_id


class ModeNotSupported(InvalidRequest):
    """The agent has no such mode."""

    title = "Mode Not Supported"

    def __init__(self, agent: str, field: str, mode: str, known: Sequence[str]) -> None:
        super().__init__(
            f"agent {agent!r} has no {field} {mode!r}; known: {', '.join(known)}", field=field
        )
        self.agent = agent


class TokenInvalid(RequestError):
    """No token, or a wrong one."""

    status = 401
    title = "Token Invalid"


class PermissionDenied(RequestError):
    """The door is shut to this Host or Origin, the token lacks a scope, or the path is outside."""

    status = 403
    title = "Permission Denied"


class NotFound(RequestError):
    """There is no such thing."""

    status = 404
    title = "Not Found"


class SessionNotFound(NotFound):
    """No session has this id."""

    title = "Session Not Found"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"there is no session {session_id!r}")
        self.session_id = session_id


class AgentNotInstalled(NotFound):
    """The agent is not on this machine, and cannot be put there."""

    title = "Agent Not Installed"

    def __init__(self, agent: str, why: str, version: str | None = None) -> None:
        wanted = f"{agent!r} {version}" if version else repr(agent)
        super().__init__(f"agent {wanted} is not installed: {why}")
        self.agent = agent


class AgentTooOld(AgentNotInstalled):
    """What is installed is older than what can be spoken to."""

    def __init__(self, agent: str, why: str) -> None:
        NotFound.__init__(self, why)
        self.agent = agent


class MethodNotAllowed(RequestError):
    """The path exists, the method does not."""

    status = 405
    title = "Method Not Allowed"


class RequestTimeout(RequestError):
    """The request did not come in time."""

    status = 408
    title = "Request Timeout"


class Conflict(RequestError):
    """The request does not fit the state that things are in."""

    status = 409
    title = "Conflict"


class SessionExists(Conflict):
    """The id is taken; an id once used is never free again."""

    title = "Session Already Exists"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} exists, or existed; choose another id")
        self.session_id = session_id


class AlreadyResolved(Conflict):
    """Somebody else's answer won."""

    title = "Already Resolved"

    def __init__(self, request_id: str, winner: Any) -> None:
        super().__init__(f"{request_id} was resolved differently before", winner=winner)


class HistoryDiverged(Conflict):
    """What was read of a session's log is not what is stored: an older copy was put back."""

    title = "History Diverged"

    def __init__(self, session_id: str, sequence: int, last: int | None = None) -> None:
        read = f"event {sequence} of session {session_id!r} is not the one that you have read"
        if last is not None and sequence > last:
            read = f"you have read up to event {sequence} of session {session_id!r}, and {last} is "
            read += "the last one"
        super().__init__(
            f"{read}: most likely an older copy of its log was put back; drop what you have of it, "
            "and read it again from the start (offset=0, without a chain)",
            sequence=sequence,
            **({} if last is None else {"lastSequence": last}),
            resumeFrom=0,
        )
        self.session_id = session_id


class SessionEndedError(RequestError):
    """The session takes nothing more."""

    status = 410
    title = "Session Ended"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} has ended; create a new one to go on")
        self.session_id = session_id


class TooLarge(RequestError):
    """The body is over the limit."""

    status = 413
    title = "Body Too Large"


class UnsupportedMediaType(RequestError):
    """JSON under another name."""

    status = 415
    title = "Unsupported Media Type"


class RangeNotSatisfiable(RequestError):
    """The file ends before the range that was asked for begins."""

    status = 416
    title = "Range Not Satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"the file has {size} bytes, and the range begins after them", size=size)


class KeyReused(RequestError):
    """An idempotency key came back with another message, or another session."""

    status = 422
    title = "Key Reused"


class TooManyRequests(RequestError):
    """Over a limit for now."""

    status = 429
    title = "Too Many Requests"


class HeadersTooLarge(RequestError):
    """The request's target and headers are too large, or too many."""

    status = 431
    title = "Headers Too Large"


class DaemonError(DragomanError):
    """We, or the agent, cannot."""


class InternalError(DaemonError):
    """A defect of ours."""


class AgentProcessExited(DaemonError):
    """The agent's process is gone, or never came up."""

    title = "Agent Process Exited"

    def __init__(self, message: str, exit: Any = None) -> None:
        super().__init__(message)
        self.exit = exit
        """How it ended (`adapter.Exit`), where it did so before it served anybody."""


class InstallFailed(DaemonError):
    """An agent could not be installed, and the message says why."""

    title = "Install Failed"


class NotInstallable(InstallFailed):
    """It could not even be tried; the message ends with what would help."""


class Unavailable(DaemonError):
    """The daemon is starting or stopping, or too many are connected."""

    status = 503
    title = "Service Unavailable"


class DeadlinePassed(DaemonError):
    """It took too long."""

    status = 504
    title = "Timeout"


class StorageFull(DaemonError):
    """The store cannot take a write; nothing of this request happened."""

    status = 507
    title = "Storage Full"


class BackupFailed(DragomanError):
    """A backup cannot be made, or put back."""

    title = "Backup Failed"


class StartRefused(DaemonError):
    """The daemon does not start, and the message says what would help."""


class WrongSetting(StartRefused):
    """A setting has a value that it cannot have."""
