// Package allreduce sums a vector over the workers of a generation.
package allreduce
