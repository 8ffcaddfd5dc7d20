"""Servers as child processes: they end with the block, and with their parent."""

import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

import ergoflow as ef


def answers(url):
    try:
        return httpx.get(f"{url}/healthz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def ends(url, seconds=20):
    until = time.monotonic() + seconds
    while answers(url):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_it_ends_with_the_block(checkpoint):
    with ef.serve_local(checkpoint) as url:
        assert answers(url)
    assert not answers(url)


def test_local(checkpoint):
    with ef.local(checkpoint, timeout=30) as flow:
        assert flow.models()[0]["name"] == "vn1d"


def test_it_ends_when_its_parent_is_killed(checkpoint):
    code = "import sys, time, ergoflow as ef\nwith ef.serve_local(sys.argv[1]) as url:\n    print(url, flush=True)\n    time.sleep(600)\n"
    parent = subprocess.Popen([sys.executable, "-c", code, checkpoint], stdout=subprocess.PIPE, text=True)
    url = parent.stdout.readline().strip()
    assert answers(url)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert ends(url)


def test_no_model():
    with pytest.raises(ef.ServerError, match="did not start"), ef.serve_local("/nowhere.safetensors"):
        pass


def test_one_source():
    with pytest.raises(TypeError), ef.serve_local():
        pass
