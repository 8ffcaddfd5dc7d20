"""The clients against a real server."""

import asyncio
import json
import pickle
import warnings

import httpx
import numpy as np
import pytest

import ergoflow as ef

pytestmark = pytest.mark.filterwarnings("ignore::ergoflow.ErgoflowWarning")


def test_sample(flow):
    s = flow.sample("-theta*(x - 1)", "1", params={"theta": 2.0}, n=500, seed=7)
    assert s.x.shape == (500,) and s.x.dtype == np.float32 and len(s) == 500
    assert s.exact_mean == pytest.approx(1, abs=1e-9) and s.exact_variance == pytest.approx(0.25, abs=1e-9)
    assert s.mean == pytest.approx(float(s.x.mean(dtype=float)), abs=1e-6)
    assert s.quantiles[0.5] == pytest.approx(float(np.quantile(s.x, 0.5)), abs=1e-6)
    assert s.certificate.verdict in repr(s) and s.certificate.checks
    assert s.seed == 7 and s.timing["total_ms"] > 0
    np.testing.assert_array_equal(s.x, flow.sample("-theta*(x - 1)", "1", params={"theta": 2.0}, n=500, seed=7).x)
    assert not np.array_equal(s.x, flow.sample("-theta*(x - 1)", "1", params={"theta": 2.0}, n=500, seed=8).x)


def test_repair_reaches_the_law(flow):
    s = flow.sample("-2*x", "1", n=8192, repair="auto")
    assert s.certificate.verdict == "good" and s.repair["steps"] > 0
    assert s.x.var() == pytest.approx(0.25, rel=0.08)
    w = flow.sample("-2*x", "1", n=4096, repair="weights")
    assert w.weights["ess"] > 100 and w.x.var() == pytest.approx(0.25, rel=0.2)


def test_batch_is_each_alone(flow):
    equations = [ef.Equation("-x", "1"), ef.Equation(function=3), ef.Equation("x - x^3", "0.7")]
    batch = flow.sample(equations, n=50, seed=3)
    assert batch.x.shape == (3, 50) and len(batch.verdicts) == 3
    np.testing.assert_allclose(batch[0].x, flow.sample(equations[0], n=50, seed=3).x, atol=1e-5)
    assert [a.equation for a in batch] == equations


def test_long_lists_go_in_parts(flow):
    batch = flow.sample([ef.Equation(f"-{1 + k / 300:.4f}*x", "1") for k in range(300)], n=20, progress=False)
    assert batch.x.shape == (300, 20)
    alike = flow.sample([ef.Equation("-x", "1")] * 300, n=20, progress=False)
    assert len({a.x.tobytes() for a in alike}) == 300, "two equations have the same noise"


def test_density(flow):
    d = flow.density("-x", "sqrt(2)", points=1001)
    np.testing.assert_allclose(d.exact, np.exp(-d.x**2 / 2) / np.sqrt(2 * np.pi), atol=1e-6)
    assert np.trapezoid(d.density, d.x) == pytest.approx(1, abs=0.02) if hasattr(np, "trapezoid") else True


def test_chain(flow):
    states = list(flow.chain("-x", "1", chains=64, seconds=0.5))
    assert states[0].steps == 0 and states[-1].steps > 0 and states[-1].x.shape == (64,)


def test_models(flow):
    (m,) = flow.models()
    assert m["name"] == "vn1d" and m["dimension"] == 1


def test_async(url):
    async def many():
        async with ef.AsyncClient(url) as client:
            drawn = await asyncio.gather(*(client.sample(f"-{k}*x", "1", n=30) for k in range(1, 20)))
            states = [s async for s in client.chain("-x", "1", chains=8, seconds=0.3)]
            with pytest.raises(ef.EquationError):
                await client.sample("-x^", "1")
            return drawn, states, await client.density("-x", "1"), await client.models()

    drawn, states, density, models = asyncio.run(many())
    assert len(drawn) == 19 and states and len(density.x) == 401 and models


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"drift": "-x^", "diffusion": "1"}, "body.drift"),
        ({"drift": "x", "diffusion": "1"}, "body.drift"),
        ({"drift": "-x", "diffusion": "x"}, "body.diffusion"),
        ({"drift": "-x"}, "body.diffusion"),
        ({"drift": "-k*x", "diffusion": "1"}, "body.drift"),
        ({"drift": "-x", "diffusion": "1", "solver": "rk9"}, "body.solver"),
        ({"drift": "-x", "diffusion": "1", "n": 10**9}, "body.n"),
    ],
)
def test_errors_name_the_field(flow, arguments, field):
    with pytest.raises(ef.EquationError) as info:
        flow.sample(**arguments)
    assert info.value.field == field and info.value.detail and info.value.status in (413, 422)
    again = pickle.loads(pickle.dumps(info.value))
    assert (again.detail, again.field, again.status) == (info.value.detail, field, info.value.status)


def test_warnings(flow):
    with pytest.warns(ef.ErgoflowWarning, match="outside the model's grid"):
        flow.sample("-x", "5", n=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flow.sample("-2*x", "1", n=8192, repair="auto").warnings == ()


def test_results_travel(flow):
    s = flow.sample("-x", "1", n=300)
    again = pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(again.x, s.x)
    assert again == again and again.certificate == s.certificate
    assert np.asarray(s) is not None and np.asarray(s, dtype=float).dtype == float
    html = s._repr_html_()
    assert "<svg" in html and s.certificate.verdict in html
    nasty = ef.Samples(s.x, ef.Equation("<script>", "1"), s.certificate, 0, "m", "1", "rk4-4")
    assert "<script>" not in nasty._repr_html_()


def test_arviz(flow):
    pytest.importorskip("arviz")
    s = flow.sample("-x", "1", n=300)
    data = s.to_arviz()
    np.testing.assert_array_equal(np.asarray(data.posterior["x"]).reshape(-1), s.x)


def test_pandas(flow):
    pytest.importorskip("pandas")
    assert list(flow.sample("-x", "1", n=300).to_pandas().columns) == ["x"]


def test_arrow(flow):
    """The server's stream and to_arrow have the same table, which pyarrow reads."""
    pa = pytest.importorskip("pyarrow")
    body = {"drift": "-x", "diffusion": "1", "n": 300, "seed": 5}
    answer = httpx.post(flow.url + "/v1/sample", json=body, headers={"Accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(answer.content).read_all()
    ours = flow.sample("-x", "1", n=300, seed=5).to_arrow()
    assert table.equals(ours.cast(table.schema.remove_metadata()))
    metadata = dict(table.schema.metadata)
    assert json.loads(metadata.pop(b"answer"))["certificate"]["checks"]
    assert metadata == ours.schema.metadata


def test_torch(flow):
    torch = pytest.importorskip("torch")
    assert isinstance(flow.sample("-x", "1", n=300).torch(), torch.Tensor)


def test_no_server():
    with ef.Client("http://127.0.0.1:9", retries=0) as client, pytest.raises(ef.ServerError, match="cannot reach"):
        client.models()
