"""Makes a page of docs/results from the report of a reproduction.

    python3 docs/benchmarks/publish.py DIR NAME [PAGE]

copies report/NAME.md and its figures from DIR, of `ergoflow reproduce … --dir DIR`, to
docs/results/PAGE.md and PAGE/; PAGE is NAME at the preset scaled and NAME-PRESET
otherwise. Text between the page's command and its line on scale is written by hand
(machine, date, commit, interpretation) and stays as it is. Figures get a palette of 64
colours. Of their data only small tables are copied; record.py keeps what else is kept.
Needs Go; of Python only the standard library.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess

from record import HEADERS, RESULTS, page_name

TABLES = ["costs", "costs-exact", "times", "radial", "energy"]  # figures whose data is copied
IN_RECORD = "Data: [record](README.md#the-record)."


def parts(page):
    """Title and command; the text by hand after them; everything from the line on scale."""
    command = page.index("\n\n", page.index("\n    ergoflow ")) + 2
    scale = re.search(r"\*\*(scaled|full size): |Ours: ", page).start()
    return page[:command], page[command:scale], page[scale:]


def linked(text, name, page):
    """Links to the page's folder, and to the record for data that is not in it."""

    def data(match):
        figure = match[1]
        if figure in TABLES:
            return f" Data: [{figure}.csv]({page}/{figure}.csv)."
        return "" if figure in HEADERS else " " + IN_RECORD

    text = re.sub(rf" Data: \[\S+\.csv\]\({re.escape(name)}/(\S+)\.csv\)\.", data, text)
    return text.replace(f"]({name}/", f"]({page}/")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("name")
    options.add_argument("page", nargs="?")
    o = options.parse_args()
    report = o.dir / "report"
    page = o.page or page_name(o.name, json.loads((report / "reproduce.json").read_text())["preset"])

    head, _, rest = parts((report / f"{o.name}.md").read_text())
    to = RESULTS / f"{page}.md"
    by_hand = parts(to.read_text())[1] if to.exists() else ""
    to.write_text(head + by_hand + linked(rest, o.name, page))

    figures = RESULTS / page
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir()
    for path in sorted((report / o.name).iterdir()):
        if path.suffix == ".png" or path.stem in TABLES:
            shutil.copyfile(path, figures / path.name)
    subprocess.run(["go", "run", "./docs/benchmarks/shrink", *sorted(figures.glob("*.png"))], cwd=RESULTS.parent.parent, check=True)
    print(f"{to} and {len(list(figures.iterdir()))} files beside it; check the text that is written by hand")


if __name__ == "__main__":
    main()
