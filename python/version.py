"""The version of the packages: that of the program, from ergoflow.go."""

import pathlib
import re

_here = pathlib.Path(__file__).resolve().parent
_source = next(p for p in (_here.parent / "ergoflow.go", _here / "ergoflow.go") if p.exists())
__version__ = re.search(r'Version\s*=\s*"([^"]+)"', _source.read_text()).group(1)  # type: ignore[union-attr]
