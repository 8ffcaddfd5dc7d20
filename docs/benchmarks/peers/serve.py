"""The protocol between the driver and a peer: the peer starts once (imports,
compilation, a round to warm up). Then it answers every line "seconds variant" with a
line of JSON: its rate while it worked for at least that long."""

import json
import sys
import time


def serve(variants, versions, warm=True):
    """variants: name → function that does a piece of work and returns (amount, check);
    check is a number on which all peers should agree, or None. warm: do every piece
    once before the first answer."""
    if warm:
        for work in variants.values():
            work()
    print(json.dumps({"variants": list(variants), "versions": versions}), flush=True)
    for line in sys.stdin:
        least, name = line.strip().split(" ", 1)
        done, start = 0.0, time.perf_counter()
        while True:
            amount, check = variants[name]()
            done += amount
            seconds = time.perf_counter() - start
            if seconds >= float(least):
                break
        print(json.dumps({"rate": done / seconds, "seconds": seconds, "check": check}), flush=True)
