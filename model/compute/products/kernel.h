// The product of two matrices of bfloat16 with sums in float32.

#ifndef ERGOFLOW_PRODUCTS_KERNEL_H_
#define ERGOFLOW_PRODUCTS_KERNEL_H_

#include <stdint.h>

// product is c = a·b with a [m, k], b [k, n] and c [m, n]. A matrix that is transposed is
// stored as [k, m] or [n, k]; all rows are contiguous.
typedef struct {
	int64_t m, k, n;
	int transposed_a, transposed_b;
	const uint16_t *a, *b;
	float *c;
	uint32_t *packed_a, *packed_b; // of packed_a_bytes and packed_b_bytes, aligned to 64 bytes
} product;

// The memory for a copy of a factor in the order in which the kernel reads it; 0: the kernel
// reads the factor itself.
int64_t packed_a_bytes(const product *);
int64_t packed_b_bytes(const product *);

// A product has two parts. Every task of a part may run on another thread; the second begins when
// the first has ended. Every element of c is a sum in an order that depends on the sizes alone.
enum part { PACK, MULTIPLY, PARTS };
int64_t tasks(const product *, enum part);
void run_task(const product *, enum part, int64_t task);

// supported says whether this processor has the instructions, AVX-512 with its BF16 extension.
int supported(void);

#endif
