"""Computes the seal of export.safetensors as docs/formats.md defines it, and writes the
file again with the stock library (safetensors 0.8), which has another order of tensors and
metadata, as rewritten.safetensors."""

import hashlib
import pathlib
import struct

from safetensors import safe_open
from safetensors.numpy import save_file

here = pathlib.Path(__file__).parent
with safe_open(here / "export.safetensors", "numpy") as file:
    metadata = file.metadata()
    tensors = {name: file.get_tensor(name) for name in file.keys()}

digest = hashlib.sha256()
dtypes = {"float32": "F32", "float64": "F64", "int64": "I64"}


def number(n):
    digest.update(struct.pack("<Q", n))


def text(b):
    number(len(b))
    digest.update(b)


content = {key: value for key, value in metadata.items() if key not in ("content_sha256", "sha256")}
number(len(content))
for key in sorted(content):
    text(key.encode())
    text(content[key].encode())
number(len(tensors))
for name in sorted(tensors):
    text(name.encode())
    text(dtypes[str(tensors[name].dtype)].encode())
    number(tensors[name].ndim)
    for size in tensors[name].shape:
        number(size)
    text(tensors[name].tobytes())
assert digest.hexdigest() == metadata["content_sha256"], digest.hexdigest()

save_file(tensors, here / "rewritten.safetensors", metadata)
assert (here / "rewritten.safetensors").read_bytes() != (here / "export.safetensors").read_bytes()
print("ok")
