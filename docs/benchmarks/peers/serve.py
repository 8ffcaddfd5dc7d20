"""How the driver talks with a peer: the peer makes itself ready once (imports,
compilation, a round to warm up), then answers every line "variant seconds" with a
line of JSON: what it did per second while it worked at least that long."""

import json
import sys
import time


def serve(variants, versions, warm=True):
    """variants: name → function that does a piece of work and returns (amount, check),
    where check is a number that all peers should agree on, or None. warm: do every
    piece once at first."""
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
