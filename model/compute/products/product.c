//go:build linux && cgo && amd64

#include "kernel.h"

#include "tile.h"

// A product has the parts: copy the factors; compute a block of rows of a panel of columns in each
// task; and, where there are sums, add those of the blocks.
//
// Copies of the factors, and the sums:
//
//	a     [blocks][pairs][BLOCK], only where a is transposed or k is odd
//	b     [panels][pairs][COLUMNS]
//	sums  [blocks][n]

static int64_t pairs(const product *p) { return over(p->k, 2); }
static int64_t blocks(const product *p) { return over(p->m, BLOCK); }
static int64_t panels(const product *p) { return over(p->n, COLUMNS); }
static int copies_a(const product *p) { return p->transposed_a || p->k % 2; }
static int64_t bytes_a(const product *p) { return copies_a(p) ? 4 * blocks(p) * pairs(p) * BLOCK : 0; }
static int64_t bytes_b(const product *p) { return 4 * panels(p) * pairs(p) * COLUMNS; } // 0 where the product is given: k = 0
static uint32_t *copy_a(const product *p) { return (uint32_t *)p->scratch; }
static uint32_t *copy_b(const product *p) { return (uint32_t *)(p->scratch + bytes_a(p)); }
static float *block_sums(const product *p) { return (float *)(p->scratch + bytes_a(p) + bytes_b(p)); }

int64_t product_scratch(const product *p, int workers) {
	(void)workers;
	return bytes_a(p) + bytes_b(p) + (p->before ? 4 * blocks(p) * p->n : 0);
}

// A strip is DEPTH pairs of a block of a, or of a panel of b.
static int64_t strips(const product *p) { return over(pairs(p), DEPTH); }
static int64_t strips_of_a(const product *p) { return copies_a(p) ? blocks(p) * strips(p) : 0; }
static int64_t all_strips(const product *p) { return strips_of_a(p) + panels(p) * strips(p); }

// TOGETHER is how many strips a task copies: fewer take less time than another thread to begin.
enum { TOGETHER = 16 };

int64_t product_tasks(const product *p, int part) {
	switch (part) {
	case 0: return over(all_strips(p), TOGETHER);
	case 1: return blocks(p) * panels(p);
	default: return p->before ? 1 : 0;
	}
}

TARGET static void copy(const product *p, int64_t strip) {
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

// y_of is a block of the y of a layer.
static int64_t y_of(const product *p, int64_t block, int64_t panel) { return (block * panels(p) + panel) * BLOCK * COLUMNS; }

// activate writes a block of y and its GELU for one of a·b.
INLINE void activate(const product *p, const float *c, int64_t block, int64_t panel, int64_t rows, const __mmask16 mask[VECTORS]) {
	int64_t lo = panel * COLUMNS;
	uint16_t *y = p->y + y_of(p, block, panel);
	__m512 bias[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		bias[v] = _mm512_maskz_loadu_ps(mask[v], p->bias + lo + 16 * v);
	for (int64_t r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++) {
			__m512 x = _mm512_add_ps(_mm512_loadu_ps(c + r * COLUMNS + 16 * v), bias[v]);
			_mm256_stream_si256((__m256i *)(y + r * COLUMNS + 16 * v), (__m256i)_mm512_cvtneps_pbh(x));
			store_rounded(p->active + (block * BLOCK + r) * p->n + lo + 16 * v, mask[v], gelu(x));
		}
}

// descend writes a block of dy for one of a·b, whose rows are stride apart, and the sums.
INLINE void descend(const product *p, const float *c, int64_t stride, int64_t block, int64_t panel, int64_t rows,
		    const __mmask16 mask[VECTORS]) {
	int64_t lo = panel * COLUMNS;
	const uint16_t *before = p->before + y_of(p, block, panel);
	__m512 sum[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		sum[v] = _mm512_setzero_ps();
	for (int64_t r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++) {
			__m512 slope = slope_of_gelu(widened(before + r * COLUMNS + 16 * v));
			__m512 d = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask[v], c + r * stride + 16 * v), slope);
			store_rounded(p->dy + (block * BLOCK + r) * p->n + lo + 16 * v, mask[v], d);
			sum[v] = _mm512_add_ps(sum[v], d);
		}
	for (int v = 0; v < VECTORS; v++)
		_mm512_mask_storeu_ps(block_sums(p) + block * p->n + lo + 16 * v, mask[v], sum[v]);
}

int64_t blocks_size(int64_t m, int64_t n) { return over(m, BLOCK) * BLOCK * over(n, COLUMNS) * COLUMNS; }

// fetch asks for rows of a panel of x [m, n]: they are too far apart for the processor to see a
// pattern.
INLINE void fetch(const float *x, int64_t n, int64_t row, int64_t rows, int64_t lo) {
	for (int64_t r = row; r < row + rows; r++)
		for (int v = 0; v < VECTORS; v++)
			__builtin_prefetch(x + r * n + lo + 16 * v);
}

// multiply computes a block of rows of a panel.
TARGET static void multiply(const product *p, int64_t block, int64_t panel) {
	int64_t all = pairs(p), lo = panel * COLUMNS, first_row = block * BLOCK, rows = least(BLOCK, p->m - first_row);
	__mmask16 mask[VECTORS], full[VECTORS];
	columns_left(p->n - lo, mask);
	columns_left(COLUMNS, full);
	const uint32_t *a = (const uint32_t *)(const void *)p->a + first_row * all, *b = copy_b(p) + panel * all * COLUMNS;
	int64_t row = all, pair = 1;
	if (copies_a(p)) {
		a = copy_a(p) + block * all * BLOCK;
		row = 1, pair = BLOCK;
	}
	if (p->given) {
		fetch(p->given, p->n, first_row, rows, lo);
		descend(p, p->given + first_row * p->n + lo, p->n, block, panel, rows, mask);
		return;
	}
	float y[BLOCK * COLUMNS], *c = y;
	int64_t stride = COLUMNS;
	if (p->c)
		c = p->c + first_row * p->n + lo, stride = p->n;
	for (int64_t from = 0; from < all; from += DEPTH)
		block_of(rows, least(DEPTH, all - from), a + from * pair, row, pair, b + from * COLUMNS, c, stride, p->c ? mask : full, from > 0);
	if (p->bias)
		activate(p, c, block, panel, rows, mask);
	if (p->before)
		descend(p, c, stride, block, panel, rows, mask);
}

// add_sums adds the sums of the blocks for a panel.
TARGET static void add_sums(const product *p, int64_t panel) {
	__mmask16 mask[VECTORS];
	columns_left(p->n - panel * COLUMNS, mask);
	for (int v = 0; v < VECTORS; v++) {
		int64_t at = panel * COLUMNS + 16 * v;
		__m512 sum = _mm512_setzero_ps();
		for (int64_t i = 0; i < blocks(p); i++)
			sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask[v], block_sums(p) + i * p->n + at));
		_mm512_mask_storeu_ps(p->sums + at, mask[v], sum);
	}
}

void product_task(const product *p, int part, int64_t task, int worker) {
	(void)worker;
	switch (part) {
	case 0:
		for (int64_t i = task * TOGETHER; i < least((task + 1) * TOGETHER, all_strips(p)); i++)
			copy(p, i);
		break;
	case 1: multiply(p, task / panels(p), task % panels(p)); break;
	default:
		for (int64_t i = 0; i < panels(p); i++)
			add_sums(p, i);
	}
}

int supported(void) {
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bf16");
}
