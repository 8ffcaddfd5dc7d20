// The kernels: products of matrices of bfloat16 with sums in float32, and what comes before or
// after them in a layer.

#ifndef ERGOFLOW_PRODUCTS_KERNEL_H_
#define ERGOFLOW_PRODUCTS_KERNEL_H_

#include <stdint.h>

// A kernel has parts, and a part has tasks, each of which may run on another thread. A part begins
// when the one before it has ended. The order of every sum depends on the sizes alone.
//
// Threads that run tasks at the same time have different workers, from 0.
enum { PARTS = 3 };

// product is c = a·b with a [m, k], b [k, n] and c [m, n]. A matrix that is transposed is stored
// as [k, m] or [n, k]; all rows are contiguous.
typedef struct {
	int64_t m, k, n;
	int transposed_a, transposed_b;
	const uint16_t *a, *b;
	float *c;

	// With a bias [n] it is a layer: y = a·b + bias, and active [m, n] is GELU(y). There is no c.
	// y is in blocks, [blocks][panels][BLOCK][COLUMNS] of tile.h, for the gradient alone.
	const float *bias;
	uint16_t *y;
	uint16_t *active;

	// With before it is the gradient of a layer whose y is before: dy = (a·b) ⊙ GELU′(before) [m, n]
	// and the sums [n] of its rows, which are of float32 numbers, not of the rounded ones. There is
	// no c. Where the product [m, n] is given, there are no a and b either, and k is 0.
	const uint16_t *before;
	const float *given;
	uint16_t *dy;
	float *sums;

	char *scratch; // of scratch_bytes, aligned to 64 bytes
} product;

int64_t product_scratch(const product *, int workers);
int64_t product_tasks(const product *, int part);
void product_task(const product *, int part, int64_t task, int worker);

// blocks_size is how many numbers the y of a layer has.
int64_t blocks_size(int64_t m, int64_t n);

// deep says whether k is so much larger than m and n that deep_… are faster. They split the sum.
int deep(const product *);
int64_t deep_scratch(const product *, int workers);
int64_t deep_tasks(const product *, int part);
void deep_task(const product *, int part, int64_t task, int worker);

// supported says whether this processor has the instructions: AVX-512 with its BF16 extension.
int supported(void);

#endif
