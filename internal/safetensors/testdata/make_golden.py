"""Writes golden.safetensors with the stock library (pip install safetensors numpy)."""

import pathlib

import numpy
from safetensors.numpy import save_file

tensors = {
    "drift": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4 - 1,
    "double": numpy.array([1 / 3, -1e300], dtype=numpy.float64),
    "count": numpy.array(-7, dtype=numpy.int64),  # a scalar: no dimensions
    "odd": numpy.array([1, 2, 255], dtype=numpy.uint8),
    "half": numpy.array([0.5], dtype=numpy.float16),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    'quoted "ü"': numpy.array([True, False]),
}
metadata = {"format": "1", "text": 'line\n"quoted" <&> ü'}
save_file(tensors, pathlib.Path(__file__).with_name("golden.safetensors"), metadata)
