"""What OpenAI's two APIs have in common."""

from __future__ import annotations

from dragoman.testing.model.frames import Event
from dragoman.testing.model.steps import HttpError

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def error_body(error: HttpError) -> Event:
    """The body of an HTTP error."""
    kind = error.type or ERROR_TYPES.get(error.status, "server_error")
    told = {"type": kind, "code": error.code, "message": error.message, "param": None}
    return {"error": told}
