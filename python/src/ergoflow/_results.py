"""Equations, and what a server answers."""

from __future__ import annotations

import base64
import html
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import ErgoflowWarning

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Equation:
    """dX = b(X)dt + σ(X)dW by formulas, or a function of the model's family by its number.

    In the plane drift has two formulas in x and y, and diffusion one (σ·I), two (a diagonal) or
    four (a matrix, row after row). params are the values of other names in the formulas. time is
    the physical time of the law, for models of laws at a time.
    """

    drift: str | Sequence[str] | None = None
    diffusion: str | Sequence[str] | None = None
    params: Mapping[str, float] | None = None
    function: int | None = None
    time: float | None = None

    def document(self) -> dict[str, Any]:
        """The equation as the server reads it."""
        d: dict[str, Any] = {}
        for name, value in (("drift", self.drift), ("diffusion", self.diffusion)):
            if value is not None:
                d[name] = value if isinstance(value, str) else list(value)
        if self.params:
            d["params"] = {k: float(v) for k, v in self.params.items()}
        if self.function is not None:
            d["function"] = int(self.function)
        if self.time is not None:
            d["time"] = float(self.time)
        return d

    def __str__(self) -> str:
        if self.function is not None:
            return f"function {self.function}"
        return f"drift {self.drift}, diffusion {self.diffusion}" + (f", {dict(self.params)}" if self.params else "")


@dataclass(frozen=True)
class Check:
    """One comparison of the samples with their equation.

    effect is their error without a unit (0 is right), z how sure that is, bound the effect that
    passes whatever z.
    """

    name: str
    effect: float
    z: float
    bound: float
    passed: bool


@dataclass(frozen=True)
class Certificate:
    """Whether samples have the law of their equation: verdict is "good", "use with care",
    "do not use" or "not judged"."""

    verdict: str
    checks: tuple[Check, ...]
    reasons: tuple[str, ...]
    advice: str = ""

    @classmethod
    def read(cls, d: Mapping[str, Any]) -> Certificate:
        checks = tuple(Check(c["name"], c["effect"], c["z"], c["bound"], c["pass"]) for c in d["checks"])
        return cls(d["verdict"], checks, tuple(d.get("reasons") or ()), d.get("advice") or "")


@dataclass(frozen=True)
class Samples:
    """Samples of one equation.

    Attributes:
        x: float32, [n] on the line, [n, d] in d dimensions.
        certificate: whether they have the law of the equation.
        mean, variance, quantiles: of the samples, on the line; quantiles by probability.
        exact_mean, exact_variance: of the law by quadrature, None where unknown or infinite.
        warnings: all that the server warns of.
        repair, weights: what a repair did, as the server says it, or None.
        timing: milliseconds of the parts of the answer.
    """

    x: Floats
    equation: Equation
    certificate: Certificate
    seed: int
    model: str
    version: str
    solver: str
    mean: float | None = None
    variance: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    exact_mean: float | None = None
    exact_variance: float | None = None
    warnings: tuple[str, ...] = ()
    repair: Mapping[str, Any] | None = None
    weights: Mapping[str, Any] | None = None
    timing: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, answer: Mapping[str, Any], about: Mapping[str, Any], equation: Equation) -> Samples:
        """Reads one answer; about has what a batch says once for all equations."""
        x = np.frombuffer(base64.b64decode(answer["samples"]), dtype="<f4").astype(np.float32, copy=False).reshape(answer["shape"])
        exact = answer.get("exact") or {}
        return cls(
            x=x, equation=equation, certificate=Certificate.read(answer["certificate"]), seed=about["seed"], model=about["model"],
            version=about["version"], solver=about["solver"], mean=answer.get("mean"), variance=answer.get("variance"),
            quantiles={float(u): v for u, v in (answer.get("quantiles") or {}).items()}, exact_mean=exact.get("mean"),
            exact_variance=exact.get("variance"), warnings=tuple(answer.get("warnings") or ()), repair=answer.get("repair"),
            weights=answer.get("weights"), timing=about.get("timing") or {},
        )

    def warn(self, stacklevel: int) -> None:
        """Passes the server's warnings to Python's, of class ErgoflowWarning."""
        for text in self.warnings:
            warnings.warn(text, ErgoflowWarning, stacklevel=stacklevel + 1)

    def __len__(self) -> int:
        return len(self.x)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.x, dtype=dtype) if copy or dtype not in (None, np.float32) else self.x

    def __repr__(self) -> str:
        text = f"<Samples {list(self.x.shape)} of {self.equation}"
        if self.mean is not None:
            mcse = math.sqrt((self.variance or 0.0) / len(self.x))
            text += f": mean {self.mean:.4g} ± {mcse:.2g}, variance {self.variance if self.variance is None else format(self.variance, '.4g')}"
            if self.exact_variance is not None and self.exact_mean is not None:
                text += f" (exact {self.exact_mean:.4g}, {self.exact_variance:.4g})"
        return f"{text}: {self.certificate.verdict}>"

    def _repr_html_(self) -> str:
        """A histogram of the first coordinate, with the verdict."""
        first = self.x.reshape(len(self.x), -1)[:, 0].astype(float)
        low, high = np.quantile(first, [0.002, 0.998]) if len(first) > 1 else (first[0] - 1, first[0] + 1)
        counts, _ = np.histogram(first, bins=48, range=(float(low), float(high) if high > low else float(low) + 1))
        top = max(int(counts.max()), 1)
        bars = "".join(f'<rect x="{4 * i}" y="{60 - 58 * c / top:.1f}" width="3.4" height="{58 * c / top:.1f}"/>' for i, c in enumerate(counts))
        reasons = "".join(f"<li>{html.escape(r)}</li>" for r in self.certificate.reasons)
        return (
            f"<div><b>{html.escape(str(self.equation))}</b>: {html.escape(self.certificate.verdict)}"
            f'<br><svg width="192" height="60" fill="#4477aa" role="img" aria-label="histogram">{bars}</svg>'
            f"<br><small>{low:.3g} … {high:.3g}, {len(self.x)} samples of {html.escape(self.model)}@{html.escape(self.version)}</small>"
            + (f"<ul>{reasons}</ul>" if reasons else "") + "</div>"
        )

    def to_arviz(self) -> Any:
        """The samples as ArviZ takes them: one chain, variable x. They are independent, so R-hat
        and ESS say nothing about them. Needs arviz 0.x or 1.x."""
        return to_arviz({"x": self.x[np.newaxis]})

    def torch(self) -> Any:
        """The samples as a tensor of PyTorch, without a copy (DLPack)."""
        import torch

        return torch.from_dlpack(np.require(self.x, requirements=["W"]))

    def to_arrow(self) -> Any:
        """The samples as a Table of pyarrow: the columns x; x and y; or x1, x2, …, with model,
        version, seed and verdict in the schema's metadata, as the server's stream of Arrow."""
        import pyarrow as pa

        columns = self.x.reshape(len(self.x), -1).T
        names = ["x", "y"][:len(columns)] if len(columns) < 3 else [f"x{i + 1}" for i in range(len(columns))]
        metadata = {"model": self.model, "version": self.version, "seed": str(self.seed), "verdict": self.certificate.verdict}
        return pa.table({name: pa.array(c) for name, c in zip(names, columns, strict=True)}, metadata=metadata)

    def to_pandas(self) -> Any:
        """The samples as a DataFrame with the columns x, or x0, x1, …"""
        import pandas as pd

        if self.x.ndim == 1:
            return pd.DataFrame({"x": self.x})
        return pd.DataFrame(self.x, columns=[f"x{i}" for i in range(self.x.shape[1])])


def to_arviz(posterior: Mapping[str, npt.NDArray[Any]]) -> Any:
    """arviz.from_dict, whose arguments differ between ArviZ 0.x and 1.x."""
    import arviz as az

    if int(az.__version__.split(".")[0]) < 1:
        return az.from_dict(posterior=dict(posterior))
    return az.from_dict({"posterior": dict(posterior)})


@dataclass(frozen=True)
class Batch:
    """Samples of several equations, in their order."""

    answers: tuple[Samples, ...]

    @property
    def x(self) -> Floats:
        """float32, [equations, n] or [equations, n, d]."""
        return np.stack([a.x for a in self.answers])

    @property
    def verdicts(self) -> tuple[str, ...]:
        return tuple(a.certificate.verdict for a in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Samples]:
        return iter(self.answers)

    def __getitem__(self, i: int) -> Samples:
        return self.answers[i]

    def __repr__(self) -> str:
        counts = {v: self.verdicts.count(v) for v in dict.fromkeys(self.verdicts)}
        return f"<Batch of {len(self)} equations: " + ", ".join(f"{n} {v}" for v, n in counts.items()) + ">"


@dataclass(frozen=True)
class Density:
    """The law of a model's samples on the line, at evenly spaced points x [points].

    density and cdf are the model's, exact the density of the law of the formulas (None where it
    is not known). quantiles are the model's, by probability.
    """

    x: npt.NDArray[np.float64]
    density: npt.NDArray[np.float64]
    cdf: npt.NDArray[np.float64]
    exact: npt.NDArray[np.float64] | None
    quantiles: Mapping[float, float]
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, d: Mapping[str, Any]) -> Density:
        exact = d.get("exact")
        return cls(np.array(d["x"]), np.array(d["density"]), np.array(d["cdf"]), None if exact is None else np.array(exact),
                   {float(u): v for u, v in d["quantiles"].items()}, tuple(d["warnings"]))


@dataclass(frozen=True)
class ChainState:
    """States x of live chains after so many steps of dt: float32, [chains] or [chains, d]."""

    steps: int
    dt: float
    x: Floats

    @classmethod
    def read(cls, d: Mapping[str, Any]) -> ChainState:
        return cls(d["steps"], d["dt"], np.array(d["x"], dtype=np.float32).reshape(d["shape"]))
