//go:build linux && cgo && amd64

#include "kernel.h"

#include "block.h"

// The parts: copy the factors; compute a block in each task; and, of the gradient of a layer, add the
// sums of the blocks, [blocks][n].

static float *block_sums(const product *p) { return (float *)(p->scratch + bytes_of_copies(p)); }

int64_t product_scratch(const product *p, int workers) {
	(void)workers;
	return bytes_of_copies(p) + (p->before ? 4 * blocks(p) * p->n : 0);
}

int64_t product_tasks(const product *p, int part) {
	switch (part) {
	case 0: return copy_tasks(p);
	case 1: return blocks(p) * panels(p);
	default: return p->before ? 1 : 0;
	}
}

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
			store_y(y, r, v, x);
			store_rounded(p->active + (block * BLOCK + r) * p->n + lo + 16 * v, mask[v], gelu(x));
		}
	written();
}

// descend writes a block of du for one of a·b, whose rows are stride apart, and the sums.
INLINE void descend(const product *p, const float *c, int64_t stride, int64_t block, int64_t panel, int64_t rows,
		    const __mmask16 mask[VECTORS]) {
	int64_t lo = panel * COLUMNS;
	const uint16_t *before = p->before + y_of(p, block, panel);
	__m512 sum[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		sum[v] = _mm512_setzero_ps();
	for (int64_t r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++) {
			__m512 d = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask[v], c + r * stride + 16 * v), slope_of_gelu(load_y(before, r, v)));
			store_rounded(p->du + (block * BLOCK + r) * p->n + lo + 16 * v, mask[v], d);
			sum[v] = _mm512_add_ps(sum[v], d);
		}
	for (int v = 0; v < VECTORS; v++)
		_mm512_mask_storeu_ps(block_sums(p) + block * p->n + lo + 16 * v, mask[v], sum[v]);
}

// fetch asks for rows of a panel of x [m, n]: they are too far apart for the processor to see a
// pattern.
INLINE void fetch(const float *x, int64_t n, int64_t row, int64_t rows, int64_t lo) {
	for (int64_t r = row; r < row + rows; r++)
		for (int v = 0; v < VECTORS; v++)
			__builtin_prefetch(x + r * n + lo + 16 * v);
}

// compute computes a block.
TARGET static void compute(const product *p, int64_t block, int64_t panel) {
	int64_t lo = panel * COLUMNS, first_row = block * BLOCK, rows = least(BLOCK, p->m - first_row);
	__mmask16 mask[VECTORS], full[VECTORS];
	columns_left(p->n - lo, mask);
	columns_left(COLUMNS, full);
	if (p->c) {
		multiply_block(p, block, panel, p->c + first_row * p->n + lo, p->n, mask);
		return;
	}
	if (p->given) {
		fetch(p->given, p->n, first_row, rows, lo);
		descend(p, p->given + first_row * p->n + lo, p->n, block, panel, rows, mask);
		return;
	}
	float c[BLOCK * COLUMNS];
	multiply_block(p, block, panel, c, COLUMNS, full);
	if (p->bias)
		activate(p, c, block, panel, rows, mask);
	else
		descend(p, c, COLUMNS, block, panel, rows, mask);
}

// add_sums adds the sums of the blocks.
TARGET static void add_sums(const product *p) {
	for (int64_t j = 0; j < p->n; j += 16) {
		__mmask16 mask = first(p->n - j);
		__m512 sum = _mm512_setzero_ps();
		for (int64_t i = 0; i < blocks(p); i++)
			sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, block_sums(p) + i * p->n + j));
		_mm512_mask_storeu_ps(p->sums + j, mask, sum);
	}
}

void product_task(const product *p, int part, int64_t task, int worker) {
	(void)worker;
	switch (part) {
	case 0: copy_task(p, task); break;
	case 1: compute(p, task / panels(p), task % panels(p)); break;
	default: add_sums(p);
	}
}

int64_t blocks_size(int64_t m, int64_t n) { return over(m, BLOCK) * BLOCK * over(n, COLUMNS) * COLUMNS; }

int supported(void) {
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bf16");
}
