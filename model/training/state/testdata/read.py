"""Reads state.safetensors with the stock library (safetensors 0.8) and checks
what the Go test put in."""

import json
import pathlib

import numpy as np
from safetensors import safe_open

with safe_open(pathlib.Path(__file__).with_name("state.safetensors"), "numpy") as file:
    metadata = file.metadata()
    tensors = {name: file.get_tensor(name) for name in file.keys()}
assert metadata["format"] == "ergoflow-state-3" and metadata["step"] == "2", metadata
assert json.loads(metadata["normalisation"])["drift"]["std"] == 2
assert json.loads(metadata["config"]) == {"name": "vn1d"}
assert len(tensors) == 10
assert np.array_equal(tensors["parameters/a.weight"], np.arange(6, dtype=np.float32).reshape(3, 2) / 8)
assert np.array_equal(tensors["adam.m/a.bias"], [6, 7])
assert np.array_equal(tensors["adam.v/a.bias"], [36, 49])
assert np.array_equal(tensors["losses"], [0.5, 0.25]) and tensors["losses"].dtype == np.float64
stretches = json.loads(metadata["ledger"])
assert [s["generation"] for s in stretches] == [1, 3] and stretches[1]["workers"] == ["b", "c"]
assert np.array_equal(tensors["ledger.steps"], [-(2**62), -(2**62)])
assert np.array_equal(tensors["ledger.words"], [[2**62, -(2**63)], [2**62, -(2**63)]])
assert np.array_equal(tensors["ledger.users"] - 2**32, [[0, 0], [0, 1]])
print("ok")
