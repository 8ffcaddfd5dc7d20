// Package safetensors reads and writes the safetensors format, version 0.x of
// the reference implementation (huggingface/safetensors). Python opens these files
// with the stock library. A file is
//
//	offset  bytes  content
//	0       8      n, length of the header, unsigned little-endian
//	8       n      header: one JSON object, UTF-8, begins with '{',
//	               padded with spaces so that 8+n is divisible by 8
//	8+n     rest   tensors, C order, little-endian, without gap or overlap
//
// and the header maps each tensor's name to
//
//	{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
//
// with offsets counted from 8+n; the name "__metadata__" maps to an object of
// strings. n is at most 100,000,000, as in the reference implementation.
//
// Open and Decode check everything: the tensors of a [File] have shapes, types and
// offsets that agree with one another and with the length of the data.
package safetensors
