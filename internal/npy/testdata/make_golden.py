"""Writes the golden files with NumPy."""

import pathlib
import zipfile

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
for dtype in ("|i1", "<i2", ">i4", ">i8", "|u1", "<u2", ">u2", "<u4", "<u8", ">f2", "<f2", ">f8"):
    numpy.save(here / ("dtype_" + dtype[1:] + "_big" * (dtype[0] == ">") + ".npy"), (x if "f" in dtype else abs(x)).astype(dtype))
numpy.save(here / "half.npy", numpy.array([1 / 3, -65504, 2.0**-24, -(2.0**-14), 0.0], dtype="<f2"))
numpy.save(here / "least.npy", numpy.array([-(2**63), 2**53, -128], dtype="<i8"))
numpy.save(here / "odd.npy", numpy.array([0, 2**53 + 1], dtype="<i8"))
numpy.save(here / "odd_unsigned.npy", numpy.array([2**64 - 1], dtype="<u8"))
numpy.save(here / "half_inf.npy", numpy.array([numpy.inf], dtype="<f2"))
numpy.save(here / "bool.npy", numpy.array([True]))
numpy.save(here / "complex.npy", numpy.array([1j]))
numpy.save(here / "text.npy", numpy.array(["a"]))
numpy.save(here / "object.npy", numpy.array([None]), allow_pickle=True)
numpy.save(here / "long_double.npy", numpy.array([1], dtype=numpy.longdouble))
with open(here / "v3.npy", "wb") as f:
    numpy.lib.format.write_array(f, numpy.asfortranarray(x.astype(">f8")), version=(3, 0))


def entry(key, method):
    """A fixed time of writing, so that the files stay the same."""
    info = zipfile.ZipInfo(key + ".npy")
    info.compress_type = method
    return info



for name, method, arrays in (
    ("one.npz", zipfile.ZIP_STORED, {"arr_0": x}),
    ("deflated.npz", zipfile.ZIP_DEFLATED, {"samples": numpy.asfortranarray(x)}),
    ("two.npz", zipfile.ZIP_STORED, {"a": x, "b": x}),
    ("none.npz", zipfile.ZIP_STORED, {}),
):
    with zipfile.ZipFile(here / name, "w", method) as archive:
        for key, array in arrays.items():
            with archive.open(entry(key, method), "w", force_zip64=True) as f:
                numpy.lib.format.write_array(f, array)
numpy.save(here / "scalar.npy", numpy.float32(1))
numpy.save(here / "cube.npy", numpy.zeros((2, 2, 2), dtype="<f4"))
numpy.save(here / "nan.npy", numpy.array([1, numpy.nan], dtype="<f4"))
numpy.save(here / "huge.npy", numpy.array([1e300], dtype="<f8"))
numpy.save(here / "record.npy", numpy.zeros(2, dtype=[("a", "<f4")]))
