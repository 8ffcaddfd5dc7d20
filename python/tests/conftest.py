"""One server of a small trained model for all tests: CHECKPOINT names it, or `make python-test`
trains one."""

import os

import pytest

import ergoflow as ef


@pytest.fixture(scope="session")
def checkpoint() -> str:
    path = os.environ.get("CHECKPOINT")
    if not path:
        pytest.skip("CHECKPOINT names no checkpoint: run make python-test")
    return path


@pytest.fixture(scope="session")
def url(checkpoint):
    with ef.serve_local(checkpoint) as address:
        yield address


@pytest.fixture
def flow(url):
    with ef.Client(url) as client:
        yield client
