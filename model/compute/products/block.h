// A block of a product, BLOCK rows of a panel of COLUMNS columns, and the copies of the factors that
// it reads:
//
//	a  [blocks][pairs][BLOCK], only where a is transposed or k is odd
//	b  [panels][pairs][COLUMNS]
//
// Both are at the beginning of the scratch.

#ifndef ERGOFLOW_PRODUCTS_BLOCK_H_
#define ERGOFLOW_PRODUCTS_BLOCK_H_

#include "kernel.h"
#include "tile.h"

static inline int64_t pairs(const product *p) { return over(p->k, 2); }
static inline int64_t blocks(const product *p) { return over(p->m, BLOCK); }
static inline int64_t panels(const product *p) { return over(p->n, COLUMNS); }
static inline int copies_a(const product *p) { return p->transposed_a || p->k % 2; }
static inline int64_t bytes_a(const product *p) { return copies_a(p) ? 4 * blocks(p) * pairs(p) * BLOCK : 0; }
static inline int64_t bytes_b(const product *p) { return 4 * panels(p) * pairs(p) * COLUMNS; } // 0 where the product is given
static inline int64_t bytes_of_copies(const product *p) { return bytes_a(p) + bytes_b(p); }
static inline uint32_t *copy_a(const product *p) { return (uint32_t *)p->scratch; }
static inline uint32_t *copy_b(const product *p) { return (uint32_t *)(p->scratch + bytes_a(p)); }

// A strip is DEPTH pairs of a block of a, or of a panel of b.
static inline int64_t strips(const product *p) { return over(pairs(p), DEPTH); }
static inline int64_t strips_of_a(const product *p) { return copies_a(p) ? blocks(p) * strips(p) : 0; }
static inline int64_t all_strips(const product *p) { return strips_of_a(p) + panels(p) * strips(p); }

// TOGETHER is how many strips a task copies: fewer take less time than another thread to begin.
enum { TOGETHER = 16 };

static inline int64_t copy_tasks(const product *p) { return over(all_strips(p), TOGETHER); }

TARGET static inline void copy_strip(const product *p, int64_t strip) {
	int of_a = strip < strips_of_a(p);
	if (!of_a)
		strip -= strips_of_a(p);
	int64_t i = strip / strips(p), from = strip % strips(p) * DEPTH, count = least(DEPTH, pairs(p) - from);
	if (of_a) {
		uint32_t *out = copy_a(p) + (i * pairs(p) + from) * BLOCK;
		if (p->transposed_a)
			interleave(p->a, p->k, p->m, i * BLOCK, (i + 1) * BLOCK, from, count, 0, BLOCK, out);
		else
			transpose(p->a, p->k, p->m, i * BLOCK, BLOCK, from, count, out);
	} else {
		uint32_t *out = copy_b(p) + (i * pairs(p) + from) * COLUMNS;
		if (p->transposed_b)
			transpose(p->b, p->k, p->n, i * COLUMNS, COLUMNS, from, count, out);
		else
			interleave(p->b, p->k, p->n, i * COLUMNS, (i + 1) * COLUMNS, from, count, 0, COLUMNS, out);
	}
}

static inline void copy_task(const product *p, int64_t task) {
	for (int64_t i = task * TOGETHER; i < least((task + 1) * TOGETHER, all_strips(p)); i++)
		copy_strip(p, i);
}

// multiply_block writes a block of a·b to c, whose rows are stride apart.
TARGET static inline void multiply_block(const product *p, int64_t block, int64_t panel, float *c, int64_t stride,
					 const __mmask16 mask[VECTORS]) {
	static const uint32_t zeros[DEPTH];
	const uint32_t *a = (const uint32_t *)(const void *)p->a, *b = copy_b(p) + panel * pairs(p) * COLUMNS;
	int64_t first_row = block * BLOCK, rows = least(BLOCK, p->m - first_row), width = pairs(p) / p->window;
	for (int64_t part = 0; part < p->window; part++)
		for (int64_t from = 0; from < width; from += DEPTH, b += DEPTH * COLUMNS) {
			const uint32_t *row[BLOCK];
			for (int64_t r = 0; r < rows; r++) {
				int64_t d = part - p->window / 2, step = (first_row + r) % p->steps + d;
				if (copies_a(p))
					row[r] = copy_a(p) + (block * width + from) * BLOCK + r;
				else if (p->window > 1 && (step < 0 || step >= p->steps))
					row[r] = zeros;
				else
					row[r] = a + (first_row + r + (p->window > 1 ? d : 0)) * width + from;
			}
			int64_t count = least(DEPTH, width - from);
			block_of(rows, count, row, copies_a(p) ? BLOCK : 1, b, c, stride, mask, part + from > 0);
			if (count < DEPTH)
				b -= (DEPTH - count) * COLUMNS;
		}
}

// y_of is where a block of the y of a layer begins.
static inline int64_t y_of(const product *p, int64_t block, int64_t panel) { return (block * panels(p) + panel) * BLOCK * COLUMNS; }

// store_y writes 16 numbers of a block of y, which nothing reads before the gradient: past the caches.
INLINE void store_y(uint16_t *y, int64_t row, int vector, __m512 x) {
	_mm256_stream_si256((__m256i *)(y + row * COLUMNS + 16 * vector), (__m256i)_mm512_cvtneps_pbh(x));
}

// LARGE is how many numbers of a result no cache keeps for the kernel that reads it.
enum { LARGE = 1 << 23 };

// write_rounded is store_rounded for 16 numbers of a result [m, n], past the caches if it is large. A
// part of the 16, or none, is written through them: such stores have no mask.
INLINE void write_rounded(const product *p, uint16_t *to, __mmask16 mask, __m512 x) {
	if (mask == 0xffff && p->m * p->n >= LARGE && p->n % 16 == 0)
		_mm256_stream_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(x));
	else
		store_rounded(to, mask, x);
}

// written makes what was written past the caches visible to other threads, as other stores are by
// themselves.
static inline void written(void) { _mm_sfence(); }

// load_y reads what store_y has written.
INLINE __m512 load_y(const uint16_t *y, int64_t row, int vector) { return widened(y + row * COLUMNS + 16 * vector); }

#endif
