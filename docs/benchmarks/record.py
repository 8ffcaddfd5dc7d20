"""Keeps what a reproduction has judged, so that it can go on elsewhere, with more
seeds or runs, without training again what is published.

    python3 docs/benchmarks/record.py DIR

copies from DIR, of `ergoflow reproduce … --dir DIR`, into docs/results/record: of
every finished training how it went, without the state; of every evaluation its
numbers; and the figures that the page shows. To go on:

    cp -r docs/results/record DIR && ergoflow reproduce vn1d --preset scaled --seeds 3 --dir DIR

trains and judges what the record lacks, and writes the page of everything. Nothing
but the standard library is needed.
"""

import argparse
import hashlib
import json
import pathlib
import shutil

RECORD = pathlib.Path(__file__).resolve().parent.parent / "results" / "record"
NUMBERS = ["results.json", "figures.json", "judged.json"]  # the last one makes the others count


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def keep(path, directory, into):
    to = into / path.relative_to(directory)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("--into", type=pathlib.Path, default=RECORD)
    o = options.parse_args()
    trainings = evaluations = 0
    for path in sorted(o.dir.glob("runs/*/training.json")):
        if not json.loads(path.read_text())["finished"].startswith("0001"):
            keep(path, o.dir, o.into)
            trainings += 1
    shown = {digest(p) for pattern in ("report/*/*.png", "report/*/*.csv") for p in o.dir.glob(pattern)}
    for judged in sorted(o.dir.glob("evaluations/*/judged.json")):
        for path in sorted(judged.parent.iterdir()):
            if path.suffix in (".png", ".csv") and digest(path) in shown:
                keep(path, o.dir, o.into)
        for name in NUMBERS:
            keep(judged.parent / name, o.dir, o.into)
        evaluations += 1
    print(f"{trainings} trainings and {evaluations} evaluations of {o.dir} are in {o.into}")


if __name__ == "__main__":
    main()
