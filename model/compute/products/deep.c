//go:build linux && cgo && amd64

#include "kernel.h"

#include "block.h"

// The gradient of a layer's weights is a product aᵀ·b of few rows and columns that sums over all
// rows of a batch. Here a task computes the sum over a slice of them: it copies DEPTH pairs of both
// factors at a time, which stay in the second cache, and adds their products to its own c. The
// second part adds the slices.

enum { SLICES = 16, CHUNKS = 8 };

static int64_t chunks(const product *p) { return over(pairs(p), DEPTH); }
static int64_t slices(const product *p) { return least(SLICES, chunks(p)); }
static int64_t size(const product *p) { return 16 * over(p->m * p->n, 16); } // of a slice's c
static int64_t copy_size(const product *p) { return DEPTH * (blocks(p) * BLOCK + panels(p) * COLUMNS); }

int deep(const product *p) {
	if (p->bias || p->before || !p->transposed_a || p->transposed_b)
		return 0;
	return p->window > 1 || (chunks(p) >= CHUNKS && p->m * p->n <= 1 << 17);
}

int64_t deep_scratch(const product *p, int workers) { return 4 * (slices(p) * size(p) + workers * copy_size(p)); }

int64_t deep_tasks(const product *p, int part) {
	switch (part) {
	case 0: return slices(p);
	case 1: return over(size(p), 1 << 12);
	default: return 0;
	}
}

// interleave_window is interleave for the columns of a convolution's a, which is x [k, inputs].
TARGET static void interleave_window(const product *p, int64_t from, int64_t count, uint32_t *out) {
	int64_t inputs = p->m / p->window;
	for (int64_t i = 0; i < count; i++) {
		int64_t row = 2 * (from + i), step = row % p->steps, next = (row + 1) % p->steps;
		for (int64_t j = 0; j < p->window; j++) {
			int64_t d = j - p->window / 2;
			const uint16_t *low = p->a + (row + d) * inputs;
			__mmask16 have = step + d >= 0 && step + d < p->steps ? 0xffff : 0;
			__mmask16 both = row + 1 < p->k && next + d >= 0 && next + d < p->steps ? 0xffff : 0;
			for (int64_t o = 0; o < inputs; o += 16) {
				int64_t column = j * inputs + o;
				_mm512_store_si512(out + (column / BLOCK * DEPTH + i) * BLOCK + column % BLOCK,
						   pair_of(low + o, have, low + inputs + o, both));
			}
		}
	}
}

TARGET static void slice(const product *p, int64_t s, int worker) {
	float *c = (float *)p->scratch + s * size(p);
	uint32_t *a = (uint32_t *)p->scratch + slices(p) * size(p) + worker * copy_size(p), *b = a + DEPTH * blocks(p) * BLOCK;
	int64_t begin = s * chunks(p) / slices(p), end = (s + 1) * chunks(p) / slices(p);
	for (int64_t chunk = begin; chunk < end; chunk++) {
		int64_t from = chunk * DEPTH, count = least(DEPTH, pairs(p) - from);
		if (p->window > 1)
			interleave_window(p, from, count, a);
		else
			interleave(p->a, p->k, p->m, 0, blocks(p) * BLOCK, from, count, DEPTH, BLOCK, a);
		interleave(p->b, p->k, p->n, 0, panels(p) * COLUMNS, from, count, DEPTH, COLUMNS, b);
		for (int64_t j = 0; j < panels(p); j++) {
			__mmask16 mask[VECTORS];
			columns_left(p->n - j * COLUMNS, mask);
			for (int64_t i = 0; i < blocks(p); i++) {
				const uint32_t *rows[BLOCK];
				for (int r = 0; r < BLOCK; r++)
					rows[r] = a + i * DEPTH * BLOCK + r;
				block_of(least(BLOCK, p->m - i * BLOCK), count, rows, BLOCK, b + j * DEPTH * COLUMNS,
					 c + i * BLOCK * p->n + j * COLUMNS, p->n, mask, chunk > begin);
			}
		}
	}
}

TARGET static void add_slices(const product *p, int64_t task) {
	int64_t end = least((task + 1) << 12, p->m * p->n);
	for (int64_t at = task << 12; at < end; at += 16) {
		__m512 sum = _mm512_setzero_ps();
		for (int64_t s = 0; s < slices(p); s++)
			sum = _mm512_add_ps(sum, _mm512_load_ps((float *)p->scratch + s * size(p) + at));
		_mm512_mask_storeu_ps(p->c + at, first(end - at), sum);
	}
}

void deep_task(const product *p, int part, int64_t task, int worker) {
	if (part == 0)
		slice(p, task, worker);
	else
		add_slices(p, task);
}
