// This file is for amd64 alone.
#ifdef __x86_64__

#include "kernel.h"

#include "vectors.h"

// VDPBF16PS adds the two products of a pair of neighbouring bfloat16 to a float32. So both
// factors are read in pairs along k, a pair in 32 bits; where k is odd, the last pair has a zero.
//
// A tile is ROWS × COLUMNS elements of c in ROWS·COLUMNS/16 = 24 of the 32 vector registers. A
// task of the last part computes a block of BLOCK rows and a panel of COLUMNS columns, DEPTH
// pairs at a time: these pairs of the panel take 32 KiB, which stay in the first cache.
//
// Copies of the factors:
//
//	a  [blocks][pairs][BLOCK], only where a is transposed or k is odd
//	b  [panels][pairs][COLUMNS], but for a single row of c, where every pair is read once
enum { ROWS = 6, COLUMNS = 64, VECTORS = COLUMNS / 16, BLOCK = 48, DEPTH = 128 };

// STRIP is how many pairs a task packs.
enum { STRIP = 128 };

static int64_t pairs(const product *p) { return over(p->k, 2); }
static int64_t blocks(const product *p) { return over(p->m, BLOCK); }
static int64_t panels(const product *p) { return over(p->n, COLUMNS); }
static int packs_a(const product *p) { return p->transposed_a || p->k % 2; }
static int single_row(const product *p) { return p->m == 1 && !p->transposed_b && !p->bias; }

int64_t packed_a_bytes(const product *p) { return packs_a(p) ? 4 * blocks(p) * pairs(p) * BLOCK : 0; }
int64_t packed_b_bytes(const product *p) { return single_row(p) ? 0 : 4 * panels(p) * pairs(p) * COLUMNS; }

// pair_of is the pairs of 16 columns of two rows of which the mask says what there is.
INLINE __m512i pair_of(const uint16_t *low, __mmask16 have, const uint16_t *high, __mmask16 both) {
	__m512i l = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(have, low));
	__m512i h = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(both, high));
	return _mm512_or_si512(l, _mm512_slli_epi32(h, 16));
}

// interleave copies the pairs [from, to) of k of the columns [lo, lo+width) of a matrix
// [k, columns] to [pairs][width]. Columns beyond the last are zeros.
TARGET static void interleave(const uint16_t *x, int64_t k, int64_t columns, int64_t lo, int64_t width, int64_t from,
			      int64_t to, uint32_t *out) {
	for (int64_t p = from; p < to; p++) {
		const uint16_t *low = x + 2 * p * columns + lo;
		const uint16_t *high = low + columns;
		for (int64_t i = 0; i < width; i += 16) {
			__mmask16 have = first(columns - lo - i);
			_mm512_store_si512(out + p * width + i, pair_of(low + i, have, high + i, 2 * p + 1 < k ? have : 0));
		}
	}
}

// transpose is interleave for a matrix [columns, k].
static void transpose(const uint16_t *x, int64_t k, int64_t columns, int64_t lo, int64_t width, int64_t from,
		      int64_t to, uint32_t *out) {
	int64_t have = least(columns - lo, width);
	for (int64_t i = 0; i < have; i++) {
		const uint16_t *row = x + (lo + i) * k;
		for (int64_t p = from; p < to; p++) {
			uint32_t pair = row[2 * p];
			if (2 * p + 1 < k)
				pair |= (uint32_t)row[2 * p + 1] << 16;
			out[p * width + i] = pair;
		}
	}
	for (int64_t i = have; i < width; i++)
		for (int64_t p = from; p < to; p++)
			out[p * width + i] = 0;
}

// tile adds the products of count pairs to rows × COLUMNS elements of c, or sets them. The pair p
// of row r of a is at a[r·row + p·pair], those of b at b[p·COLUMNS]. c has n elements in a row, of
// which mask says which belong to the tile.
INLINE void tile(int rows, int64_t count, const uint32_t *a, int64_t row, int64_t pair, const uint32_t *b, float *c,
		 int64_t n, const __mmask16 mask[VECTORS], int add) {
	__m512 sum[ROWS][VECTORS];
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			sum[r][v] = add ? _mm512_maskz_loadu_ps(mask[v], c + r * n + 16 * v) : _mm512_setzero_ps();
	for (int64_t p = 0; p < count; p++) {
		__m512bh column[VECTORS];
		for (int v = 0; v < VECTORS; v++)
			column[v] = (__m512bh)_mm512_load_si512(b + p * COLUMNS + 16 * v);
		for (int r = 0; r < rows; r++) {
			__m512bh x = (__m512bh)_mm512_set1_epi32(a[r * row + p * pair]);
			for (int v = 0; v < VECTORS; v++)
				sum[r][v] = _mm512_dpbf16_ps(sum[r][v], x, column[v]);
		}
	}
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			_mm512_mask_storeu_ps(c + r * n + 16 * v, mask[v], sum[r][v]);
}

// activate adds the bias to a block of rows of a panel of c, and writes its GELU.
TARGET static void activate(const product *p, int64_t block, int64_t panel, const __mmask16 mask[VECTORS]) {
	int64_t lo = panel * COLUMNS;
	for (int64_t r = block * BLOCK; r < least((block + 1) * BLOCK, p->m); r++)
		for (int v = 0; v < VECTORS; v++) {
			int64_t at = lo + 16 * v;
			__m512 x = _mm512_add_ps(_mm512_maskz_loadu_ps(mask[v], p->c + r * p->n + at),
						 _mm512_maskz_loadu_ps(mask[v], p->bias + at));
			_mm512_mask_storeu_ps(p->c + r * p->n + at, mask[v], x);
			store_rounded(p->active + r * p->n + at, mask[v], gelu(x));
		}
}

// multiply computes a block of rows of a panel.
TARGET static void multiply(const product *p, int64_t block, int64_t panel) {
	int64_t all = pairs(p), left = p->n - panel * COLUMNS;
	__mmask16 mask[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		mask[v] = first(left - 16 * v);
	const uint32_t *a = (const uint32_t *)(const void *)p->a + block * BLOCK * all, *b = p->packed_b + panel * all * COLUMNS;
	int64_t row = all, pair = 1;
	if (packs_a(p)) {
		a = p->packed_a + block * all * BLOCK;
		row = 1, pair = BLOCK;
	}
	float *c = p->c + block * BLOCK * p->n + panel * COLUMNS;
	int64_t rows = least(BLOCK, p->m - block * BLOCK);
	for (int64_t from = 0; from < all; from += DEPTH) {
		int64_t count = least(DEPTH, all - from);
		for (int64_t r = 0; r < rows; r += ROWS) {
			const uint32_t *x = a + r * row + from * pair, *y = b + from * COLUMNS;
			float *z = c + r * p->n;
			switch (rows - r) {
			case 1: tile(1, count, x, row, pair, y, z, p->n, mask, from > 0); break;
			case 2: tile(2, count, x, row, pair, y, z, p->n, mask, from > 0); break;
			case 3: tile(3, count, x, row, pair, y, z, p->n, mask, from > 0); break;
			case 4: tile(4, count, x, row, pair, y, z, p->n, mask, from > 0); break;
			case 5: tile(5, count, x, row, pair, y, z, p->n, mask, from > 0); break;
			default: tile(ROWS, count, x, row, pair, y, z, p->n, mask, from > 0);
			}
		}
	}
	if (p->bias)
		activate(p, block, panel, mask);
}

// multiply_row computes a panel of the only row of c.
TARGET static void multiply_row(const product *p, int64_t panel) {
	int64_t lo = panel * COLUMNS;
	__m512 sum[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		sum[v] = _mm512_setzero_ps();
	for (int64_t i = 0; i < pairs(p); i++) {
		int both = 2 * i + 1 < p->k;
		uint32_t x = p->a[2 * i] | (both ? (uint32_t)p->a[2 * i + 1] << 16 : 0);
		const uint16_t *row = p->b + 2 * i * p->n + lo;
		for (int v = 0; v < VECTORS; v++) {
			__mmask16 have = first(p->n - lo - 16 * v);
			__m512i y = pair_of(row + 16 * v, have, row + p->n + 16 * v, both ? have : 0);
			sum[v] = _mm512_dpbf16_ps(sum[v], (__m512bh)_mm512_set1_epi32(x), (__m512bh)y);
		}
	}
	for (int v = 0; v < VECTORS; v++)
		_mm512_mask_storeu_ps(p->c + lo + 16 * v, first(p->n - lo - 16 * v), sum[v]);
}

static int64_t strips(const product *p) { return over(pairs(p), STRIP); }
static int64_t tasks_of_a(const product *p) { return packs_a(p) && !single_row(p) ? blocks(p) * strips(p) : 0; }

int64_t product_tasks(const void *data, int part) {
	const product *p = data;
	if (part == 1)
		return blocks(p) * panels(p);
	return tasks_of_a(p) + (single_row(p) ? 0 : panels(p) * strips(p));
}

// pack copies one strip of a factor.
static void pack(const product *p, int64_t task) {
	int of_a = task < tasks_of_a(p);
	if (!of_a)
		task -= tasks_of_a(p);
	int64_t from = task % strips(p) * STRIP, to = least(from + STRIP, pairs(p)), i = task / strips(p);
	if (of_a)
		(p->transposed_a ? interleave : transpose)(p->a, p->k, p->m, i * BLOCK, BLOCK, from, to,
							   p->packed_a + i * pairs(p) * BLOCK);
	else
		(p->transposed_b ? transpose : interleave)(p->b, p->k, p->n, i * COLUMNS, COLUMNS, from, to,
							   p->packed_b + i * pairs(p) * COLUMNS);
}

void product_task(const void *data, int part, int64_t task) {
	const product *p = data;
	if (part == 0)
		pack(p, task);
	else if (single_row(p))
		multiply_row(p, task);
	else
		multiply(p, task / panels(p), task % panels(p));
}

int supported(void) {
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bf16");
}

#endif
