// The kernels: products of matrices of bfloat16 with sums in float32, and the activations
// between them.

#ifndef ERGOFLOW_PRODUCTS_KERNEL_H_
#define ERGOFLOW_PRODUCTS_KERNEL_H_

#include <stdint.h>

// A kernel has two parts. Every task of a part may run on another thread; the second part begins
// when the first has ended. The order of every sum depends on the sizes alone.
enum { PARTS = 2 };

// product is c = a·b with a [m, k], b [k, n] and c [m, n]. A matrix that is transposed is stored
// as [k, m] or [n, k]; all rows are contiguous.
//
// With a bias [n] it is a layer: c = a·b + bias, and active [m, n] is GELU(c).
typedef struct {
	int64_t m, k, n;
	int transposed_a, transposed_b;
	const uint16_t *a, *b;
	const float *bias; // or NULL
	float *c;
	uint16_t *active;              // with a bias
	uint32_t *packed_a, *packed_b; // of packed_a_bytes and packed_b_bytes, aligned to 64 bytes
} product;

// The memory for a copy of a factor in the order in which the kernel reads it; 0: the kernel
// reads the factor itself.
int64_t packed_a_bytes(const product *);
int64_t packed_b_bytes(const product *);

int64_t product_tasks(const void *, int part);
void product_task(const void *, int part, int64_t task);

// gelu_gradient is dx = dy ⊙ GELU′(x) for x, dy and dx [m, n], and the sums [n] of dx over its
// rows, which are of float32 numbers, not of the rounded ones.
typedef struct {
	int64_t m, n;
	const float *dy, *x;
	uint16_t *dx;
	float *sums;
	float *partial; // of partial_bytes, aligned to 64 bytes
} gelu_gradient;

int64_t partial_bytes(const gelu_gradient *);
int64_t gradient_tasks(const void *, int part);
void gradient_task(const void *, int part, int64_t task);

// supported says whether this processor has the instructions: AVX-512 with its BF16 extension.
int supported(void);

#endif
