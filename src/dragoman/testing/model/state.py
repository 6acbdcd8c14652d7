"""The state that a test and the model server share. Thread-safe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from dragoman.testing.model.progress import Ids, ScriptProgress
from dragoman.testing.model.requests import ModelRequest, Outcome
from dragoman.testing.model.script import ScriptError, StepLike
from dragoman.testing.model.steps import Step


class ModelState:
    """Takes in requests and gives out steps."""

    def __init__(self, on_request: Callable[[ModelRequest], None] | None) -> None:
        self._changed = threading.Condition()
        self._progress = ScriptProgress()
        self._requests: list[ModelRequest] = []
        self._on_request = on_request

    # --- for the server ---

    def take(self, request: ModelRequest) -> Step:
        """Record a request and give the step that answers it."""
        with self._changed:
            step = self._progress.take(request)
        self.record(request)
        return step

    def record(self, request: ModelRequest) -> None:
        """Record a request, after which everybody may see it."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
        if self._on_request is not None:
            self._on_request(request)

    def finish(self, request: ModelRequest, outcome: Outcome) -> None:
        """Say how a request ended; the first to say it is right."""
        with self._changed:
            request.outcome = request.outcome or outcome
            self._changed.notify_all()

    @property
    def ids(self) -> Ids:
        """Ids that were never used."""
        return self._progress.ids

    # --- for the test ---

    def add(self, steps: Iterable[StepLike]) -> None:
        """Add steps at the end."""
        with self._changed:
            self._progress.add(steps)

    def replace(self, steps: Iterable[StepLike]) -> None:
        """Forget the steps that are left, and take these."""
        with self._changed:
            self._progress.replace(steps)

    def requests(self) -> list[ModelRequest]:
        """All requests so far."""
        with self._changed:
            return list(self._requests)

    def exhausted(self) -> list[ModelRequest]:
        """The main requests that found no step."""
        with self._changed:
            return list(self._progress.exhausted)

    def remaining(self) -> list[Step]:
        """The steps that were not served yet."""
        with self._changed:
            return self._progress.remaining

    def ensure_gate(self, name: str) -> None:
        """Raise ScriptError for a gate that no step has."""
        with self._changed:
            known = sorted(self._progress.gates)
        if name not in known:
            raise ScriptError(f"no step has a gate {name!r}; known: {', '.join(known) or 'none'}")

    def wait_for(
        self, found: Callable[[list[ModelRequest]], ModelRequest | None], timeout_s: float
    ) -> ModelRequest:
        """Wait until a request is found among those that came; raise TimeoutError."""
        with self._changed:
            request = self._changed.wait_for(lambda: found(self._requests), timeout_s)
            if request is None:
                seen = ", ".join(f"{r.method} {r.path}" for r in self._requests) or "none at all"
                raise TimeoutError(f"no such request within {timeout_s} s; there were: {seen}")
            return request
