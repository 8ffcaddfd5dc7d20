// This file is for amd64 alone.
#ifdef __x86_64__

#include "kernel.h"
#include "vectors.h"

// A task of the first part computes STRIP rows and their sums, COLUMNS at a time with their sums
// in registers; one of the second adds the sums of the strips for COLUMNS columns.
enum { STRIP = 64, VECTORS = 4, COLUMNS = 16 * VECTORS };

static int64_t strips(const gelu_gradient *g) { return over(g->m, STRIP); }

int64_t partial_bytes(const gelu_gradient *g) { return 64 * over(strips(g) * g->n * 4, 64); }

int64_t gradient_tasks(const void *data, int part) {
	const gelu_gradient *g = data;
	return part == 0 ? strips(g) : over(g->n, COLUMNS);
}

TARGET static void strip(const gelu_gradient *g, int64_t i) {
	for (int64_t lo = 0; lo < g->n; lo += COLUMNS) {
		__mmask16 mask[VECTORS];
		__m512 sum[VECTORS];
		for (int v = 0; v < VECTORS; v++)
			mask[v] = first(g->n - lo - 16 * v), sum[v] = _mm512_setzero_ps();
		for (int64_t row = i * STRIP; row < least((i + 1) * STRIP, g->m); row++)
			for (int v = 0; v < VECTORS; v++) {
				int64_t at = row * g->n + lo + 16 * v;
				__m512 x = _mm512_maskz_loadu_ps(mask[v], g->x + at), dy = _mm512_maskz_loadu_ps(mask[v], g->dy + at);
				__m512 dx = _mm512_mul_ps(dy, slope_of_gelu(x));
				store_rounded(g->dx + at, mask[v], dx);
				sum[v] = _mm512_add_ps(sum[v], dx);
			}
		for (int v = 0; v < VECTORS; v++)
			_mm512_mask_storeu_ps(g->partial + i * g->n + lo + 16 * v, mask[v], sum[v]);
	}
}

TARGET static void columns(const gelu_gradient *g, int64_t panel) {
	for (int64_t j = panel * COLUMNS; j < least((panel + 1) * COLUMNS, g->n); j += 16) {
		__mmask16 mask = first(g->n - j);
		__m512 sum = _mm512_setzero_ps();
		for (int64_t i = 0; i < strips(g); i++)
			sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, g->partial + i * g->n + j));
		_mm512_mask_storeu_ps(g->sums + j, mask, sum);
	}
}

void gradient_task(const void *data, int part, int64_t task) {
	if (part == 0)
		strip(data, task);
	else
		columns(data, task);
}

#endif
