"""`ergoflow serve` under load, beside the bare sampler: starts a server of a checkpoint on this
machine and runs docs/benchmarks/serve (vegeta) against it, on the same processors.

    make bench-serve

--write FILE replaces the part between the markers in FILE.
"""

import argparse
import datetime
import json
import pathlib
import subprocess

import sitting

ROOT = sitting.ROOT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--checkpoint", default=ROOT / "ergoflow-runs" / "vn1d-demo")
    parser.add_argument("--seconds", default="8")
    options = parser.parse_args()
    binary = ROOT / "bin" / "ergoflow"
    bench = json.loads(subprocess.run([binary, "bench", "sample", "--checkpoint", options.checkpoint, "--compare", "0", "--json"],
                                      check=True, stdout=subprocess.PIPE, text=True).stdout)
    server = subprocess.Popen([binary, "serve", "--checkpoint", options.checkpoint, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            if line.startswith("server ready: "):
                url = line.split()[-1]
                break
        else:
            raise SystemExit("the server did not start")
        table = subprocess.run(["go", "run", "./docs/benchmarks/serve", "-seconds", options.seconds, url],
                               cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        with open(f"/proc/{server.pid}/status") as f:
            peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    finally:
        server.terminate()
        server.wait()
    text = "\n".join([
        f"{datetime.date.today()}, {sitting.processor()}, commit {sitting.commit()}, {bench['threads']} threads for server and clients together.", "",
        f"The bare sampler (`ergoflow bench sample`): {1 / bench['seconds_per_equation']:.0f} equations a second in batches of 128, "
        f"{1 / bench['seconds_one']:.0f} one by one, without certificates.", "", table, "",
        f"The server's memory was at most {peak / 1024:.0f} MiB.",
    ])
    print(text)
    if options.write:
        sitting.write(options.write, text)


if __name__ == "__main__":
    main()
