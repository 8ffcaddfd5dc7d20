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

	// With a window above 1 it is a convolution of sequences of so many steps, with zeros beyond
	// their ends: a is stored as x [rows, inputs], rows a multiple of steps, and row t of a sequence in a is
	// [x(t - window/2), …, x(t + window/2)]. inputs is a multiple of 16, the window odd.
	int64_t window, steps;

	// With a bias [n] it is a layer: u = a·b + bias, y = u, and active [m, n] is GELU(y). There is
	// no c. With a gain [n] and a shift [n] the layer normalises its rows, which have mean 0:
	// y = u⊙scale, scale [m] = 1/√(mean(u²) + 1e-5), and active is GELU(gain⊙y + shift); n ≤ WIDEST.
	// y is in blocks, [blocks][panels][BLOCK][COLUMNS] of tile.h, for the gradient alone.
	// With mean [m/repeat, n], which only a layer that normalises has, there is no active, but its
	// means over repeat rows, before they are rounded.
	const float *bias, *gain, *shift;
	uint16_t *y, *active;
	float *scale, *mean;

	// With before it is the gradient of a layer whose y is before: du = (a·b) ⊙ GELU′(before) [m, n]
	// and the sums [n] of its rows, which are of float32 numbers, not of the rounded ones. There is
	// no c. Where the product is given, there are no a and b either, and k is 0.
	// With a gain, a product that is given is [m/repeat, n], each row of which stands for repeat
	// rows; with d = (a·b) ⊙ GELU′(gain⊙before + shift) the gradient is
	// du = scale⊙(gain⊙d - before·mean(gain⊙d⊙before)), and the sums [3, n] are of du, d and
	// d⊙before.
	const uint16_t *before;
	const float *given, *scaled; // scaled is the scale of the layer
	int64_t repeat;
	uint16_t *du;
	float *sums;

	char *scratch; // as large as …_scratch says, aligned to 64 bytes
} product;

int64_t product_scratch(const product *, int workers);
int64_t product_tasks(const product *, int part);
void product_task(const product *, int part, int64_t task, int worker);

// blocks_size is how many numbers the y of a layer has.
int64_t blocks_size(int64_t m, int64_t n);

// WIDEST is how many columns a layer that normalises may have.
enum { WIDEST = 256 };

// norm_… are product_… of a layer that normalises, and of its gradient.
int64_t norm_scratch(const product *, int workers);
int64_t norm_tasks(const product *, int part);
void norm_task(const product *, int part, int64_t task, int worker);

// deep says whether k is so much larger than m and n that deep_… are faster. They split the sum.
int deep(const product *);
int64_t deep_scratch(const product *, int workers);
int64_t deep_tasks(const product *, int part);
void deep_task(const product *, int part, int64_t task, int worker);

// supported says whether this processor has the instructions: AVX-512 with its BF16 extension.
int supported(void);

#endif
