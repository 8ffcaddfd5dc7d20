"""Packs what a reproduction measured into docs/results/record.tar.xz, and unpacks it so
that `ergoflow reproduce` continues from it without training again what is published.

    python3 docs/benchmarks/record.py pack DIR      # DIR of `ergoflow reproduce … --dir DIR`
    python3 docs/benchmarks/record.py unpack DIR    # a new directory

After unpack,

    ergoflow reproduce vn1d --preset scaled --seeds 3 --dir DIR

trains and evaluates only what the record lacks, and writes the page of everything.

The record has the times and last loss of every finished training, and all distances of
every evaluation. For evaluations whose figures are on a page it also names the page, and
has the data of the figures `radial`, `energy` and `evolution`. It lacks the trained
states, the figures, which unpack copies from the folder beside the page, the loss of
every step, and the samples behind the figures `percentiles` and `samples`: unpack writes
the CSV files of these three with the header alone. Only the standard library is needed.
"""

import argparse
import hashlib
import io
import json
import pathlib
import shutil
import sys
import tarfile

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"
RECORD = RESULTS / "record.tar.xz"
NUMBERS = ["results.json", "figures.json", "judged.json"]  # without the last, the others do not count
PAGE = "page"  # in the record alone: the page that has an evaluation's figures
# Figures that reproduce reads; all others it draws from the distances. Of some the record
# has the data, of others only the CSV header remains.
DATA = ["radial", "energy", "evolution"]
HEADERS = {"loss": "step,loss,mean\n", "percentiles": "percent,function,set,x,pdf,cdf\n", "samples": "percent,function,set,x,y\n"}


def page_name(name, preset):
    """The page of an experiment or study in docs/results, without .md."""
    return name if preset == "scaled" else f"{name}-{preset}"


def load(archive=RECORD):
    """Path → content of every file of the record."""
    with tarfile.open(archive) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}


def save(files, archive):
    """Writes the same bytes for the same files. Files of a name stand together: they compress better."""
    with tarfile.open(archive, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as tar:
        for name in sorted(files, key=lambda n: (n.rsplit("/", 1)[1], n)):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]))


def evaluations(source):
    """results.json of every evaluation of a record, of a reproduction's directory, or of a run."""
    if source.name == "results.json":
        return [json.loads(source.read_text())]
    if source.is_dir():
        return [json.loads(p.read_text()) for p in sorted(source.glob("evaluations/*/results.json"))]
    return [json.loads(content) for name, content in sorted(load(source).items()) if name.endswith("/results.json")]


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def read_figures(captions):
    """The figures of an evaluation that reproduce reads, from its figures.json."""
    return [c["name"] for c in json.loads(captions) if c["name"] in DATA or c["name"] in HEADERS]


def pack(directory, archive):
    files = load(archive) if archive.exists() else {}

    def keep(path):
        files[path.relative_to(directory).as_posix()] = path.read_bytes()

    trainings = count = 0
    for path in sorted(directory.glob("runs/*/training.json")):
        if not json.loads(path.read_text())["finished"].startswith("0001"):
            keep(path)
            trainings += 1
    on_pages = {digest(p) for p in directory.glob("report/*/*.png")}
    for judged in sorted(directory.glob("evaluations/*/judged.json")):
        folder = judged.parent
        for name in NUMBERS:
            keep(folder / name)
        figures = read_figures((folder / "figures.json").read_bytes())
        pictures = [folder / f"{name}.png" for name in figures]
        if pictures and all(p.exists() and digest(p) in on_pages for p in pictures):
            for name in figures:
                if name in DATA:
                    keep(folder / f"{name}.csv")
            experiment = json.loads((folder / "results.json").read_text())["experiment"]
            files[f"evaluations/{folder.name}/{PAGE}"] = page_name(experiment["name"], experiment["preset"]).encode()
        count += 1
    save(files, archive)
    print(f"{trainings} trainings and {count} evaluations of {directory} are in {archive}")


def unpack(directory, archive):
    if any((directory / name).exists() for name in ("runs", "evaluations")):
        sys.exit(f"record: {directory} has runs or evaluations already")
    files = load(archive)
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name != PAGE:
            path.write_bytes(content)
            continue
        for figure in read_figures(files[f"evaluations/{path.parent.name}/figures.json"]):
            shutil.copyfile(RESULTS / content.decode() / f"{figure}.png", path.parent / f"{figure}.png")
            if figure in HEADERS:
                (path.parent / f"{figure}.csv").write_text(HEADERS[figure])
    print(f"{archive} is in {directory}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=["pack", "unpack"])
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("--archive", type=pathlib.Path, default=RECORD, help="default: %(default)s")
    o = options.parse_args()
    {"pack": pack, "unpack": unpack}[o.action](o.dir, o.archive)


if __name__ == "__main__":
    main()
