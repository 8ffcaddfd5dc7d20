"""Writes the golden files with NumPy."""

import pathlib

import numpy

here = pathlib.Path(__file__).parent
x = numpy.array([[1, 2.5], [-3, 1e-3], [0, 7]])
numpy.save(here / "f4.npy", x.astype("<f4"))
numpy.save(here / "f8.npy", x.astype("<f8"))
numpy.save(here / "fortran.npy", numpy.asfortranarray(x.astype("<f4")))
numpy.save(here / "one.npy", x[:, 0].astype("<f8"))
numpy.save(here / "empty.npy", numpy.zeros((0,), dtype="<f4"))
with open(here / "v2.npy", "wb") as f:
    numpy.lib.format.write_array(f, x.astype("<f4"), version=(2, 0))
numpy.save(here / "int.npy", x.astype("<i8"))
numpy.save(here / "big_endian.npy", x.astype(">f4"))
numpy.save(here / "scalar.npy", numpy.float32(1))
numpy.save(here / "cube.npy", numpy.zeros((2, 2, 2), dtype="<f4"))
numpy.save(here / "nan.npy", numpy.array([1, numpy.nan], dtype="<f4"))
numpy.save(here / "huge.npy", numpy.array([1e300], dtype="<f8"))
numpy.save(here / "record.npy", numpy.zeros(2, dtype=[("a", "<f4")]))
