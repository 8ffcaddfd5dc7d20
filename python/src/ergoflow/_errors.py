"""What can go wrong, with the server's words."""

from __future__ import annotations

from typing import Any

import httpx


class ErgoflowWarning(UserWarning):
    """The samples may have another law than the equation. The message says why."""


class ErgoflowError(Exception):
    """A request that failed.

    Attributes:
        status: HTTP status, or 0 if there was no answer.
        hint: what to do, or "".
        field: path of the wrong field in the request, such as "body.drift", or "".
    """

    def __init__(self, detail: str, status: int = 0, hint: str = "", field: str = "") -> None:
        super().__init__(detail if not hint else f"{detail}\nhint: {hint}")
        self.detail, self.status, self.hint, self.field = detail, status, hint, field

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.detail, self.status, self.hint, self.field)


class EquationError(ErgoflowError, ValueError):
    """The request has a formula that cannot be read, an equation without an invariant law, or
    another wrong field (status 400, 404, 413 and 422)."""


class Busy(ErgoflowError):
    """The server had no room, also after the retries (status 503)."""


class TooSlow(ErgoflowError, TimeoutError):
    """The answer took longer than it may (status 504, or the client's timeout)."""


class ServerError(ErgoflowError):
    """The server failed, cannot be reached, or refuses the token."""


def from_response(response: httpx.Response) -> ErgoflowError:
    """The error that an answer with a status of 400 or more stands for."""
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    detail = str(problem.get("detail") or response.reason_phrase or f"status {response.status_code}")
    errors = problem.get("errors") or []
    field = str(errors[0].get("location", "")) if errors else ""
    kind: type[ErgoflowError] = ServerError
    if response.status_code == 503:
        kind = Busy
    elif response.status_code == 504:
        kind = TooSlow
    elif response.status_code in (400, 404, 413, 422):
        kind = EquationError
    return kind(detail, response.status_code, str(problem.get("hint") or ""), field)
