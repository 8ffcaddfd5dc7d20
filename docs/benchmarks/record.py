"""Packs what a reproduction measured into docs/results/record.tar.xz, and unpacks it so
that `ergoflow reproduce` continues from it without training again what is published.

    python3 docs/benchmarks/record.py pack DIR      # DIR of `ergoflow reproduce … --dir DIR`
    python3 docs/benchmarks/record.py unpack DIR    # a new directory

After unpack,

    ergoflow reproduce vn1d --preset scaled --seeds 3 --dir DIR

trains and evaluates only what the record lacks, and writes the page of everything.

The record has of every finished training its times and last loss; of every evaluation
all distances; and of the evaluation whose figures a page has, the data behind the
figures that do not follow from the distances. It lacks the trained states, the figures
themselves, which unpack takes from the folder beside the page, and the samples behind
the figures `percentiles` and `samples`: unpack writes their CSV files with the header
alone. Only the standard library is needed.
"""

import argparse
import ast
import csv
import hashlib
import io
import json
import pathlib
import shutil
import struct
import sys
import tarfile

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"
RECORD = RESULTS / "record.tar.xz"
NUMBERS = ["results.json", "figures.json", "judged.json"]  # without the last, the others do not count
DATA = ["radial.csv", "energy.csv", "evolution.csv"]  # does not follow from the distances; loss.csv is packed as loss.npy
HEADERS = {"percentiles": "percent,function,set,x,pdf,cdf\n", "samples": "percent,function,set,x,y\n"}
FROM_EVALUATION = ["loss", "percentiles", "samples", "radial", "energy", "evolution"]  # reproduce draws all other figures anew


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
    """results.json of every evaluation of a record or of a reproduction's directory."""
    if source.is_dir():
        return [json.loads(p.read_text()) for p in sorted(source.glob("evaluations/*/results.json"))]
    return [json.loads(content) for name, content in sorted(load(source).items()) if name.endswith("/results.json")]


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def pack_losses(text):
    """loss.csv as an .npy file of the float32 losses; step and moving mean follow from them."""
    losses = [float(row["loss"]) for row in csv.DictReader(io.StringIO(text))]
    header = repr({"descr": "<f4", "fortran_order": False, "shape": (len(losses),)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    packed = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(losses)}f", *losses)
    if unpack_losses(packed) != text:
        raise ValueError("loss.csv is not what model/report writes: losses are no float32, or the moving mean differs")
    return packed


def unpack_losses(packed):
    """loss.csv as model/report writes it: the mean is centred, over a hundredth of the steps."""
    (length,) = struct.unpack("<H", packed[8:10])
    (count,) = ast.literal_eval(packed[10:10 + length].decode())["shape"]
    losses = struct.unpack(f"<{count}f", packed[10 + length:])
    sums, window = [0.0], max(1, count // 100)
    for v in losses:
        sums.append(sums[-1] + v)
    lines = ["step,loss,mean"]
    for i, v in enumerate(losses):
        first, end = max(0, i - window // 2), min(count, i + window // 2 + 1)
        lines.append(f"{i + 1},{number(v)},{number((sums[end] - sums[first]) / (end - first))}")
    return "\n".join(lines) + "\n"


def number(v):
    """The shortest decimal, as Go writes it."""
    return repr(v).removesuffix(".0")


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
        figures = [folder / f"{c['name']}.png" for c in json.loads((folder / "figures.json").read_text()) if c["name"] in FROM_EVALUATION]
        if figures and all(f.exists() and digest(f) in on_pages for f in figures):
            for name in DATA:
                if (folder / name).exists():
                    keep(folder / name)
            files[f"evaluations/{folder.name}/loss.npy"] = pack_losses((folder / "loss.csv").read_text())
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
        if path.name == "loss.npy":
            unpack_figures(path.parent, files)
            path, content = path.with_suffix(".csv"), unpack_losses(content).encode()
        path.write_bytes(content)
    print(f"{archive} is in {directory}")


def unpack_figures(folder, files):
    """The figures of an evaluation from the page that has them, and CSV files without the samples."""
    evaluation = f"evaluations/{folder.name}"
    experiment = json.loads(files[f"{evaluation}/results.json"])["experiment"]
    page = RESULTS / page_name(experiment["name"], experiment["preset"])
    for caption in json.loads(files[f"{evaluation}/figures.json"]):
        name = caption["name"]
        if name in FROM_EVALUATION:
            shutil.copyfile(page / f"{name}.png", folder / f"{name}.png")
        if name in HEADERS:
            (folder / f"{name}.csv").write_text(HEADERS[name])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=["pack", "unpack"])
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("--archive", type=pathlib.Path, default=RECORD, help="default: %(default)s")
    o = options.parse_args()
    {"pack": pack, "unpack": unpack}[o.action](o.dir, o.archive)


if __name__ == "__main__":
    main()
