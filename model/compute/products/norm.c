//go:build linux && cgo && amd64

#include "kernel.h"

#include <string.h>

#include "block.h"

// A layer that normalises needs whole rows: a task computes all panels of a group of blocks, of which
// the rows are a multiple of repeat, so that no mean has rows of two groups. The parts are those of
// product.c; the sums of the groups are [groups][3][WIDEST].

enum { GROUP = 8, PANELS = WIDEST / COLUMNS };

// group is how many blocks a group has.
static int64_t group(const product *p) {
	int64_t blocks = 1;
	while (blocks * BLOCK % p->repeat)
		blocks++;
	return blocks * over(GROUP, blocks);
}

static int64_t groups(const product *p) { return over(blocks(p), group(p)); }
static float *group_sums(const product *p) { return (float *)(p->scratch + bytes_of_copies(p)); }

int64_t norm_scratch(const product *p, int workers) {
	(void)workers;
	return bytes_of_copies(p) + (p->before ? 4 * groups(p) * 3 * WIDEST : 0);
}

int64_t norm_tasks(const product *p, int part) {
	switch (part) {
	case 0: return copy_tasks(p);
	case 1: return groups(p);
	default: return p->before ? 1 : 0;
	}
}

// masks are those of the panels.
INLINE void masks(const product *p, __mmask16 mask[PANELS][VECTORS]) {
	for (int64_t j = 0; j < panels(p); j++)
		columns_left(p->n - j * COLUMNS, mask[j]);
}

// add adds x to 16 numbers.
INLINE void add(float *to, __m512 x) { _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), x)); }

// activate computes a block of a layer. sums [WIDEST] are of the rows before it that belong to the
// same mean as its first rows, and then to the same as its last.
TARGET static void activate(const product *p, int64_t block, float *sums) {
	__mmask16 mask[PANELS][VECTORS], full[VECTORS];
	masks(p, mask);
	columns_left(COLUMNS, full);
	float c[BLOCK * WIDEST];
	int64_t stride = panels(p) * COLUMNS, rows = least(BLOCK, p->m - block * BLOCK);
	for (int64_t j = 0; j < panels(p); j++)
		multiply_block(p, block, j, c + j * COLUMNS, stride, full);
	for (int64_t r = 0; r < rows; r++) {
		int64_t row = block * BLOCK + r;
		__m512 squares = _mm512_setzero_ps();
		for (int64_t j = 0; j < panels(p); j++)
			for (int v = 0; v < VECTORS; v++) {
				int64_t at = j * COLUMNS + 16 * v;
				__m512 u = _mm512_add_ps(_mm512_loadu_ps(c + r * stride + at), _mm512_maskz_loadu_ps(mask[j][v], p->bias + at));
				_mm512_storeu_ps(c + r * stride + at, u);
				squares = _mm512_fmadd_ps(u, u, squares); // beyond the last column u is 0
			}
		float scale = 1 / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(_mm512_reduce_add_ps(squares) / p->n + 1e-5f)));
		p->scale[row] = scale;
		for (int64_t j = 0; j < panels(p); j++)
			for (int v = 0; v < VECTORS; v++) {
				int64_t at = j * COLUMNS + 16 * v;
				__mmask16 have = mask[j][v];
				__m512 y = _mm512_mul_ps(_mm512_loadu_ps(c + r * stride + at), _mm512_set1_ps(scale));
				store_y(p->y + y_of(p, block, j), r, v, y);
				__m512 x = _mm512_fmadd_ps(y, _mm512_maskz_loadu_ps(have, p->gain + at), _mm512_maskz_loadu_ps(have, p->shift + at));
				if (p->mean)
					add(sums + at, gelu(x));
				else
					write_rounded(p, p->active + row * p->n + at, have, gelu(x));
			}
		if (!p->mean || (row + 1) % p->repeat)
			continue;
		for (int64_t j = 0; j < p->n; j++) {
			p->mean[row / p->repeat * p->n + j] = sums[j] / p->repeat;
			sums[j] = 0;
		}
	}
}

// descend computes a block of the gradient of a layer, and adds to the sums.
TARGET static void descend(const product *p, int64_t block, float *sums) {
	__mmask16 mask[PANELS][VECTORS];
	masks(p, mask);
	int64_t rows = least(BLOCK, p->m - block * BLOCK), n = p->n;
	float c[BLOCK * WIDEST];
	if (!p->given)
		for (int64_t j = 0; j < panels(p); j++)
			multiply_block(p, block, j, c + j * COLUMNS, n, mask[j]);
	for (int64_t r = 0; r < rows; r++) {
		int64_t row = block * BLOCK + r;
		const float *given = p->given ? p->given + row / p->repeat * n : c + r * n;
		float gained[WIDEST]; // gain⊙d
		__m512 along = _mm512_setzero_ps();
		for (int64_t j = 0; j < panels(p); j++)
			for (int v = 0; v < VECTORS; v++) {
				int64_t at = j * COLUMNS + 16 * v;
				__mmask16 have = mask[j][v];
				if (!have)
					continue;
				__m512 y = load_y(p->before + y_of(p, block, j), r, v), gain = _mm512_maskz_loadu_ps(have, p->gain + at);
				__m512 x = _mm512_fmadd_ps(y, gain, _mm512_maskz_loadu_ps(have, p->shift + at));
				__m512 d = _mm512_mul_ps(_mm512_maskz_loadu_ps(have, given + at), slope_of_gelu(x));
				add(sums + WIDEST + at, d);
				add(sums + 2 * WIDEST + at, _mm512_mul_ps(d, y));
				d = _mm512_mul_ps(d, gain);
				_mm512_storeu_ps(gained + at, d);
				along = _mm512_fmadd_ps(d, y, along); // beyond the last column d is 0
			}
		__m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(along) / n), scale = _mm512_set1_ps(p->scaled[row]);
		for (int64_t j = 0; j < panels(p); j++)
			for (int v = 0; v < VECTORS; v++) {
				int64_t at = j * COLUMNS + 16 * v;
				__mmask16 have = mask[j][v];
				if (!have)
					continue;
				__m512 y = load_y(p->before + y_of(p, block, j), r, v);
				__m512 du = _mm512_mul_ps(scale, _mm512_fnmadd_ps(y, mean, _mm512_loadu_ps(gained + at)));
				write_rounded(p, p->du + row * n + at, have, du);
				add(sums + at, du);
			}
	}
}

static void compute(const product *p, int64_t i) {
	float means[WIDEST] = {0}, *sums = group_sums(p) + i * 3 * WIDEST;
	if (p->before)
		memset(sums, 0, 3 * WIDEST * sizeof *sums);
	for (int64_t block = i * group(p); block < least((i + 1) * group(p), blocks(p)); block++)
		if (p->before)
			descend(p, block, sums);
		else
			activate(p, block, means);
	written();
}

// add_sums adds the sums of the groups.
static void add_sums(const product *p) {
	for (int kind = 0; kind < 3; kind++) {
		float *sums = p->sums + kind * p->n;
		memset(sums, 0, p->n * sizeof *sums);
		for (int64_t i = 0; i < groups(p); i++)
			for (int64_t j = 0; j < p->n; j++)
				sums[j] += group_sums(p)[(3 * i + kind) * WIDEST + j];
	}
}

void norm_task(const product *p, int part, int64_t task, int worker) {
	(void)worker;
	switch (part) {
	case 0: copy_task(p, task); break;
	case 1: compute(p, task); break;
	default: add_sums(p);
	}
}
