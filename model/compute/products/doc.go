// Package products has products of matrices of bfloat16, and the layers around them, for XLA's
// programs on the processor.
//
// XLA's plugin for the processor has a fast kernel for some products of bfloat16 alone; for the
// others it widens the factors and multiplies in float32. It also writes and reads whole arrays
// between a product and the activation after it. A backend of [Wrap] calls the kernels of this
// package instead, which are for processors with AVX512-BF16 (product.c, gradient.c). XLA calls
// them by its interface for custom calls, on its own threads (handler.c).
package products
