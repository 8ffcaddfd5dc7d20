"""A server of one's own, as a child process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._client import Client
from ._errors import ServerError


def _binary() -> str:
    """The program: of the package ergoflow-bin beside this Python, or of PATH."""
    beside = Path(sys.executable).with_name("ergoflow")
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which("ergoflow")
    if found is None:
        raise ServerError("there is no program ergoflow", hint="pip install 'ergoflow[local]', or put ergoflow into PATH")
    return found


def _die_with_parent() -> None:
    """In the child: SIGTERM when the parent dies, however it does (Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@contextlib.contextmanager
def serve_local(checkpoint: str | os.PathLike[str] | None = None, *, models: str | os.PathLike[str] | None = None, backend: str = "auto",
                start: float = 60.0) -> Iterator[str]:
    """Runs a server of a checkpoint, or of a registry's champions, on a free port of this machine,
    and yields its address. The server ends with the block, and with this process.

    start is the seconds in which a model must be ready.
    """
    if (checkpoint is None) == (models is None):
        raise TypeError("give either a checkpoint or models")
    source = ["--checkpoint", os.fspath(checkpoint)] if checkpoint is not None else ["--models", os.fspath(models or "")]
    process = subprocess.Popen(
        [_binary(), "serve", *source, "--listen", "127.0.0.1:0", "--backend", backend],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )
    said: deque[str] = deque(maxlen=20)
    ready = threading.Event()
    address: list[str] = []

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line.rstrip())
            if line.startswith("server ready: "):
                address.append(line.split()[-1])
                ready.set()
        ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if not ready.wait(start) or not address:
            raise ServerError("the server did not start: " + ("; ".join(said) or f"nothing was ready in {start:g} s"))
        yield address[0]
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(5)
        if process.stderr is not None:
            process.stderr.close()


@contextlib.contextmanager
def local(checkpoint: str | os.PathLike[str] | None = None, *, models: str | os.PathLike[str] | None = None, backend: str = "auto",
          **client: Any) -> Iterator[Client]:
    """A Client of a server of its own: serve_local and Client in one."""
    with serve_local(checkpoint, models=models, backend=backend) as url, Client(url, **client) as c:
        yield c
