// Package shard stores data sets as shard files. A shard is a fixed range of an experiment's
// functions with their samples. It depends on the description of the data set alone, whose
// hash is part of its path:
//
//	root/<family>-<hash>/shard-00007.safetensors   the data
//	root/<family>-<hash>/shard-00007.json          its manifest
//
// The data file is safetensors with float32 tensors of F functions: first the family's
// fields, if any, in the family's order, then N samples of dimension d for each function,
//
//	<field>   [F, shape of the field…]
//	samples   [F, N, d]
//
// and the metadata format, family, dataset, shard, purpose and first, with numbers in
// decimal. The bytes do not depend on the writer or the time.
//
// The manifest is a JSON object: see [Manifest]. It holds the data file's length and SHA-256,
// and is renamed into place after the data is on disk: a shard exists when its manifest does.
// Writers of the same shard do not disturb one another, since they write the same bytes and
// the last rename wins.
//
// A shard whose functions another data set has already may be that data set's file (Link): a
// hard link with a manifest of its own, whose origin is the shard that the metadata name,
//
//	root/<family>-<hash>/shard-00007.of-<origin's hash>-00009.safetensors
package shard
