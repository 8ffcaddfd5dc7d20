// Package shard stores data sets as shard files. A shard is a fixed range of an
// experiment's functions with their samples, and depends on nothing but the
// description of the data set, whose hash is part of its path:
//
//	root/<family>-<hash>/shard-00007.safetensors   the data
//	root/<family>-<hash>/shard-00007.json          its manifest
//
// The data file is safetensors with float32 tensors of F functions: first the
// family's fields in its order, which may be none, then N samples of d numbers
// for each function,
//
//	<field>   [F, shape of the field…]
//	samples   [F, N, d]
//
// and the metadata format, family, dataset, shard, purpose and first: numbers
// in decimal. The bytes are equal whoever wrote them and when.
//
// The manifest is a JSON object: see [Manifest]. It holds the data file's
// length and SHA-256, and is renamed into place when the data is on disk: a
// shard is there when its manifest is. Writers of the same shard do not disturb
// one another, as they write the same bytes and the last rename wins.
package shard
