"""The wheel's tag: that of the platform and the glibc that the program needs."""

import pathlib
import platform
import re
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def glibc(program: bytes) -> tuple[int, int]:
    """The newest version of glibc among the symbols that a program asks for; (2, 17) for one
    that is static."""
    versions = [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", program)]
    return max([(2, 17), *versions])


class Tag(BuildHookInterface):
    def initialize(self, version, build_data):
        if sys.platform != "linux":
            raise SystemExit("wheels of the program are made on Linux")
        program = (pathlib.Path(self.root) / "build" / "ergoflow").read_bytes()
        major, minor = glibc(program)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
