"""Makes a page of docs/results of what a reproduction reports.

    python3 docs/benchmarks/publish.py DIR NAME [PAGE]

copies from DIR, of `ergoflow reproduce … --dir DIR`, report/NAME.md and its figures to
docs/results/PAGE.md and PAGE/ (PAGE is NAME if not given). What stands between the
page's command and its line on scale is written by hand (machine, date, commit, what
to make of it) and stays as it is. Nothing but the standard library is needed.
"""

import argparse
import pathlib
import shutil

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"


def parts(page):
    """Title and command; what follows them by hand; everything from the line on scale."""
    command = page.index("\n\n", page.index("\n    ergoflow ")) + 2
    scale = page.index("**scaled: ") if "**scaled: " in page else page.index("Ours: ")
    return page[:command], page[command:scale], page[scale:]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("name")
    options.add_argument("page", nargs="?")
    o = options.parse_args()
    page = o.page or o.name
    report = o.dir / "report"

    head, _, rest = parts((report / f"{o.name}.md").read_text())
    to = RESULTS / f"{page}.md"
    by_hand = parts(to.read_text())[1] if to.exists() else ""
    to.write_text(head + by_hand + rest.replace(f"]({o.name}/", f"]({page}/"))

    figures = RESULTS / page
    shutil.rmtree(figures, ignore_errors=True)
    shutil.copytree(report / o.name, figures)
    print(f"{to} and {len(list(figures.iterdir()))} files beside it; see to what is written by hand")


if __name__ == "__main__":
    main()
