"""What an all-reduce that overlaps with the gradient could save, by the model of scale.py:

    python3 docs/benchmarks/overlap.py

Overlap is taken as perfect here: a step costs the longer of gradient and sum, then the
update. Each cell has three speed-ups over one worker: as it is, with perfect overlap, and
as it is with sums in bfloat16, half the bytes.
"""

import argparse

import scale

WORLDS = [2, 4, 8, 16, 64, 256]


def speed_ups(w, n, link, gradient, update):
    b, a, o = link

    def total(n):
        return min(f(w, n, a, o, b) for name, f in scale.ALGORITHMS.items() if name != "hierarchical" or w > 2)

    step = gradient + update
    return [step / t for t in (gradient / w + total(n) + update, max(gradient / w, total(n)) + update, gradient / w + total(n / 2) + update)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gradient", type=float, default=0.075, help="seconds of the gradient on one worker (default: %(default)s)")
    options.add_argument("--update", type=float, default=0.004)
    o = options.parse_args()
    print("| link, vector | " + " | ".join(str(w) for w in WORLDS) + " |\n|---|" + "---|" * len(WORLDS))
    for link_name, link in scale.LINKS.items():
        for size_name, n in list(scale.SIZES.items())[1:]:
            cells = [", ".join(f"{s:.2f}" for s in speed_ups(w, n, link, o.gradient, o.update)) for w in WORLDS]
            print(f"| {link_name}, {size_name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
