"""Measure a coordinator with 1,000 schedules and 10,000 runs that have ended.

    make build && python3 docs/benchmarks/run_queue.py

Prints the time from the start of the process, after a kill, to its coordinator.json, and
the share of a core that it uses while nothing happens, beside that of a coordinator with
an empty ledger.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
IDLE = 20  # seconds


def start(directory):
    """Start a coordinator; return it and the seconds until it serves."""
    addresses = directory / "coordinator.json"
    addresses.unlink(missing_ok=True)
    begin = time.monotonic()
    with open(directory / "log", "a") as log:
        process = subprocess.Popen([ROOT / "bin/ergoflow", "coordinator", "--dir", directory], stderr=log)
    while not addresses.exists():
        time.sleep(0.002)
    return process, time.monotonic() - begin


def cpu(process):
    """Seconds of processor time."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(directory):
    process, _ = start(directory)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process, restart = start(directory)
    time.sleep(3)
    before = cpu(process)
    time.sleep(IDLE)
    share = (cpu(process) - before) / IDLE
    process.terminate()
    process.wait()
    return {"restart_seconds": round(restart, 2), "idle_core_percent": round(100 * share, 2)}


def main():
    with tempfile.TemporaryDirectory() as tmp:
        full, empty = pathlib.Path(tmp, "full"), pathlib.Path(tmp, "empty")
        full.mkdir()
        empty.mkdir()
        subprocess.run(["go", "test", "./coordinator", "-count=1", "-run", "^TestManyRuns$"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "GOEXPERIMENT": "simd", "ERGOFLOW_SCALE": str(full)})
        print(json.dumps({"1,000 schedules, 10,000 runs": measure(full), "empty": measure(empty)}, indent=2))


main()
