"""Clients of a server, for synchronous and asynchronous code."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import httpx

from ._errors import Busy, ErgoflowError, ServerError, TooSlow, from_response
from ._results import Batch, ChainState, Density, Equation, Samples

_MOST = 256  # equations of one request; longer lists go in several
_Self = TypeVar("_Self")


def _headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _wait(response: httpx.Response, attempt: int) -> float:
    """Seconds to wait before another try: the server's Retry-After, or a little more each time."""
    try:
        return min(float(response.headers["Retry-After"]), 30.0)
    except (KeyError, ValueError):
        return float(min(0.1 * 2**attempt, 5.0))


def _failed(err: httpx.HTTPError, url: str) -> ErgoflowError:
    if isinstance(err, httpx.TimeoutException):
        return TooSlow(f"no answer of {url} in time", hint="give the client a longer timeout, or ask for fewer samples")
    return ServerError(f"cannot reach {url}: {err}", hint="start a server with `ergoflow serve`, or give its address")


def _body(n: int, seed: int, solver: str | None, repair: str | int, model: str | None, timeout: float | None) -> dict[str, Any]:
    body: dict[str, Any] = {"n": int(n), "seed": int(seed), "repair": repair, "encoding": "base64"}
    if solver:
        body["solver"] = solver
    if model:
        body["model"] = model
    if timeout:
        body["timeout_s"] = float(timeout)
    return body


def _equations(drift: Any, diffusion: Any, params: Mapping[str, float] | None, function: int | None, at: float | None) -> tuple[list[Equation], bool]:
    """The equations of a call, and whether it asked for several."""
    if isinstance(drift, Sequence) and not isinstance(drift, str) and len(drift) and isinstance(drift[0], Equation):
        if diffusion is not None or params is not None or function is not None or at is not None:
            raise TypeError("with a list of Equation there is no diffusion, params, function or time")
        return list(drift), True
    if isinstance(drift, Equation):
        return [drift], False
    return [Equation(drift, diffusion, params, function, at)], False


def _read(answer: Mapping[str, Any], equations: Sequence[Equation]) -> list[Samples]:
    answers = answer.get("answers") or [answer]
    return [Samples.read(a, answer, e) for a, e in zip(answers, equations, strict=True)]


def _progress(total: int, wanted: bool | None) -> Any:
    """A bar of tqdm for long lists, or nothing."""
    if wanted is False or (wanted is None and total <= _MOST):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="equation", disable=None if wanted is None else False)


def _event(name: str, data: str) -> ChainState | None:
    """A chain's states, or None at the end."""
    d = json.loads(data)
    if name == "end":
        if d.get("problem"):
            raise ServerError(str(d["problem"]))
        return None
    return ChainState.read(d)


class Client:
    """A client of a server at url, such as "http://127.0.0.1:8080". Use it in a with-block, or
    close it.

    token is the server's, if it has one; timeout the seconds for an answer; retries how often a
    busy server is asked again.
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", token: str | None = None, timeout: float = 60.0, retries: int = 5, verify: Any = True) -> None:
        self.url, self.retries, self.timeout = url.rstrip("/"), retries, timeout
        self._http = httpx.Client(base_url=self.url, headers=_headers(token), timeout=timeout, verify=verify)

    def close(self) -> None:
        self._http.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        for attempt in range(self.retries + 1):
            try:
                response = self._http.request(method, path, json=body)
            except httpx.HTTPError as err:
                raise _failed(err, self.url) from err
            if response.status_code < 400:
                return response.json()
            if response.status_code != 503 or attempt == self.retries:
                raise from_response(response)
            time.sleep(_wait(response, attempt))
        raise Busy("the server is busy", 503)

    @overload
    def sample(self, drift: Sequence[Equation], *, n: int = ..., seed: int = ..., solver: str | None = ..., repair: str | int = ...,
               model: str | None = ..., timeout: float | None = ..., progress: bool | None = ...) -> Batch: ...
    @overload
    def sample(self, drift: str | Sequence[str] | Equation | None = ..., diffusion: str | Sequence[str] | None = ..., *,
               params: Mapping[str, float] | None = ..., function: int | None = ..., time: float | None = ..., n: int = ..., seed: int = ...,
               solver: str | None = ..., repair: str | int = ..., model: str | None = ..., timeout: float | None = ..., progress: bool | None = ...) -> Samples: ...

    def sample(self, drift: Any = None, diffusion: Any = None, *, params: Mapping[str, float] | None = None, function: int | None = None,
               time: float | None = None, n: int = 4096, seed: int = 0, solver: str | None = None, repair: str | int = "none",
               model: str | None = None, timeout: float | None = None, progress: bool | None = None) -> Samples | Batch:
        """Draws n samples of the invariant law of an equation, or of each of a list of Equation.

        repair is "none", "auto", "weights" (where the law's density is known) or a number of steps. Samples whose
        certificate is not good warn with ErgoflowWarning. progress shows a bar of tqdm over long
        lists: None where there is a terminal or a notebook, False never.

        Raises EquationError for formulas that cannot be read and equations without an invariant
        law, Busy, TooSlow and ServerError.
        """
        equations, several = _equations(drift, diffusion, params, function, time)
        body = _body(n, seed, solver, repair, model, timeout)
        if not several:
            found = _read(self._ask("POST", "/v1/sample", {**equations[0].document(), **body}), equations)
            found[0].warn(2)
            return found[0]
        bar, answers = _progress(len(equations), progress), []
        for first in range(0, len(equations), _MOST):
            part = equations[first:first + _MOST]
            answers += _read(self._ask("POST", "/v1/samples", {"equations": [e.document() for e in part], "place": first, **body}), part)
            if bar is not None:
                bar.update(len(part))
        if bar is not None:
            bar.close()
        batch = Batch(tuple(answers))
        for a in batch:
            a.warn(2)
        return batch

    def density(self, drift: str | Equation, diffusion: str | None = None, *, params: Mapping[str, float] | None = None, points: int = 401,
                model: str | None = None) -> Density:
        """The model's law of an equation on the line, beside the exact one."""
        equations, _ = _equations(drift, diffusion, params, None, None)
        body = {**equations[0].document(), "points": points, **({"model": model} if model else {})}
        return Density.read(self._ask("POST", "/v1/density", body))

    def models(self) -> list[dict[str, Any]]:
        """What the server serves: name, version, dimension, grid, …"""
        return list(self._ask("GET", "/v1/models")["models"])

    def chain(self, drift: str | Sequence[str], diffusion: str | Sequence[str], *, chains: int = 1024, seed: int = 0, seconds: float = 10.0,
              model: str | None = None) -> Iterator[ChainState]:
        """Euler–Maruyama chains of the equation from N(0, I), as they run on the server."""
        query = _query(drift, diffusion, chains, seed, seconds, model)
        try:
            with self._http.stream("GET", "/v1/chain", params=query, timeout=httpx.Timeout(self.timeout, read=self.timeout)) as response:
                if response.status_code >= 400:
                    response.read()
                    raise from_response(response)
                name = ""
                for line in response.iter_lines():
                    if line.startswith("event:"):
                        name = line[6:].strip()
                    elif line.startswith("data:"):
                        state = _event(name, line[5:])
                        if state is None:
                            return
                        yield state
        except httpx.HTTPError as err:
            raise _failed(err, self.url) from err


def _query(drift: Any, diffusion: Any, chains: int, seed: int, seconds: float, model: str | None) -> list[tuple[str, str | int | float | bool | None]]:
    query: list[tuple[str, str | int | float | bool | None]] = [("chains", chains), ("seed", seed), ("seconds", seconds)]
    for name, value in (("drift", drift), ("diffusion", diffusion)):
        query += [(name, f) for f in ([value] if isinstance(value, str) else value)]
    if model:
        query.append(("model", model))
    return query


class AsyncClient:
    """Client for asynchronous code: the same methods, to be awaited. Use it in an
    async-with-block, or await aclose()."""

    def __init__(self, url: str = "http://127.0.0.1:8080", token: str | None = None, timeout: float = 60.0, retries: int = 5, verify: Any = True) -> None:
        self.url, self.retries, self.timeout = url.rstrip("/"), retries, timeout
        self._http = httpx.AsyncClient(base_url=self.url, headers=_headers(token), timeout=timeout, verify=verify)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        for attempt in range(self.retries + 1):
            try:
                response = await self._http.request(method, path, json=body)
            except httpx.HTTPError as err:
                raise _failed(err, self.url) from err
            if response.status_code < 400:
                return response.json()
            if response.status_code != 503 or attempt == self.retries:
                raise from_response(response)
            await asyncio.sleep(_wait(response, attempt))
        raise Busy("the server is busy", 503)

    @overload
    async def sample(self, drift: Sequence[Equation], *, n: int = ..., seed: int = ..., solver: str | None = ..., repair: str | int = ...,
                     model: str | None = ..., timeout: float | None = ...) -> Batch: ...
    @overload
    async def sample(self, drift: str | Sequence[str] | Equation | None = ..., diffusion: str | Sequence[str] | None = ..., *,
                     params: Mapping[str, float] | None = ..., function: int | None = ..., time: float | None = ..., n: int = ..., seed: int = ...,
                     solver: str | None = ..., repair: str | int = ..., model: str | None = ..., timeout: float | None = ...) -> Samples: ...

    async def sample(self, drift: Any = None, diffusion: Any = None, *, params: Mapping[str, float] | None = None, function: int | None = None,
                     time: float | None = None, n: int = 4096, seed: int = 0, solver: str | None = None, repair: str | int = "none",
                     model: str | None = None, timeout: float | None = None) -> Samples | Batch:
        """As Client.sample."""
        equations, several = _equations(drift, diffusion, params, function, time)
        body = _body(n, seed, solver, repair, model, timeout)
        if not several:
            found = _read(await self._ask("POST", "/v1/sample", {**equations[0].document(), **body}), equations)
            found[0].warn(2)
            return found[0]
        answers: list[Samples] = []
        for first in range(0, len(equations), _MOST):
            part = equations[first:first + _MOST]
            answers += _read(await self._ask("POST", "/v1/samples", {"equations": [e.document() for e in part], "place": first, **body}), part)
        batch = Batch(tuple(answers))
        for a in batch:
            a.warn(2)
        return batch

    async def density(self, drift: str | Equation, diffusion: str | None = None, *, params: Mapping[str, float] | None = None, points: int = 401,
                      model: str | None = None) -> Density:
        """As Client.density."""
        equations, _ = _equations(drift, diffusion, params, None, None)
        body = {**equations[0].document(), "points": points, **({"model": model} if model else {})}
        return Density.read(await self._ask("POST", "/v1/density", body))

    async def models(self) -> list[dict[str, Any]]:
        """As Client.models."""
        return list((await self._ask("GET", "/v1/models"))["models"])

    async def chain(self, drift: str | Sequence[str], diffusion: str | Sequence[str], *, chains: int = 1024, seed: int = 0, seconds: float = 10.0,
                    model: str | None = None) -> AsyncIterator[ChainState]:
        """As Client.chain."""
        query = _query(drift, diffusion, chains, seed, seconds, model)
        try:
            async with self._http.stream("GET", "/v1/chain", params=query) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise from_response(response)
                name = ""
                async for line in response.aiter_lines():
                    if line.startswith("event:"):
                        name = line[6:].strip()
                    elif line.startswith("data:"):
                        state = _event(name, line[5:])
                        if state is None:
                            return
                        yield state
        except httpx.HTTPError as err:
            raise _failed(err, self.url) from err
