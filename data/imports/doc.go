// Package imports stores a user's own equations with their samples, so that training can use
// them in place of functions that are generated.
//
// Collect takes files that users write, checks them against a family, and stores those that it
// accepts. An import is a file's functions. Its hash is that of their values alone, not of the
// file's name or format, or the order of its functions. In a store of shards,
//
//	root/imports/<name>/<hash>.safetensors   the functions
//	root/imports/<name>/<hash>.json          the record: see [Record]
//
// The functions file is safetensors, with F functions in the order of their hashes,
//
//	<field>            [F, shape of the field…]   float32, the family's fields
//	samples            [F, N, d]                  float32
//	equation_sha256    [F, 32]                    bytes, of each function's fields
//
// An import exists when its record does, and is never changed. docs/formats.md says what users
// write.
package imports
