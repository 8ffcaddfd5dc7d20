"""Samples of the invariant laws of stochastic differential equations dX = b(X)dt + σ(X)dW, from a
server of trained models (``ergoflow serve``).

    >>> import ergoflow as ef
    >>> with ef.Client("http://127.0.0.1:8080") as flow:
    ...     s = flow.sample(drift="-theta*(x - 1)", diffusion="1", params={"theta": 2.0}, n=4096)
    >>> s.x.shape, s.certificate.verdict
    ((4096,), 'use with care')

``ef.local(checkpoint)`` starts a server of its own. ``ef.AsyncClient`` has the same methods.
"""

from ._client import AsyncClient, Client
from ._errors import Busy, EquationError, ErgoflowError, ErgoflowWarning, ServerError, TooSlow
from ._local import local, serve_local
from ._results import Batch, Certificate, Check, ChainState, Density, Equation, Samples

__all__ = [
    "AsyncClient", "Batch", "Busy", "Certificate", "ChainState", "Check", "Client", "Density", "Equation", "EquationError",
    "ErgoflowError", "ErgoflowWarning", "Samples", "ServerError", "TooSlow", "local", "serve_local",
]
