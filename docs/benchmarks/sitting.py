"""Processor and commit, for the first line of a page's measurements, and the place of the
measurements in the page."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "?")


def commit():
    """The commit of the working tree, with -dirty if it has changes."""
    return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()


END = "<!-- end -->"


def write(page, text, mark="measured"):
    """Puts the text between a page's mark <!-- measured --> and the end after it. A page may have
    several marks."""
    begin = f"<!-- {mark} -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
