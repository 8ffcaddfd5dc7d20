// What the products share: copies of factors, and the tile of a product.
//
// VDPBF16PS adds the two products of a pair of neighbouring bfloat16 to a float32. So both factors
// are read in pairs along k, a pair in 32 bits; where k is odd, the last pair has a zero.
//
// A tile is ROWS × COLUMNS elements of c in ROWS·COLUMNS/16 = 24 of the 32 vector registers. BLOCK
// rows of c and COLUMNS of its columns are computed together, DEPTH pairs at a time: these pairs of
// b take 32 KiB, which stay in the first cache.

#ifndef ERGOFLOW_PRODUCTS_TILE_H_
#define ERGOFLOW_PRODUCTS_TILE_H_

#include "vectors.h"

enum { ROWS = 6, VECTORS = 4, COLUMNS = 16 * VECTORS, BLOCK = 48, DEPTH = 128 };

// pair_of is the pairs of 16 columns of two rows, of which the masks say what there is.
INLINE __m512i pair_of(const uint16_t *low, __mmask16 have, const uint16_t *high, __mmask16 both) {
	__m512i l = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(have, low));
	__m512i h = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(both, high));
	return _mm512_or_si512(l, _mm512_slli_epi32(h, 16));
}

// interleave copies count pairs of the columns [lo, hi) of a matrix [k, columns], from its row
// 2·from, to [panels][depth][width], of which it fills the first count of every panel. Columns and
// rows beyond the last are zeros. It reads whole rows, in which the processor sees a pattern.
INLINE void interleave(const uint16_t *x, int64_t k, int64_t columns, int64_t lo, int64_t hi, int64_t from, int64_t count,
		       int64_t depth, int64_t width, uint32_t *out) {
	for (int64_t p = 0; p < count; p++) {
		const uint16_t *row = x + 2 * (from + p) * columns;
		int both = 2 * (from + p) + 1 < k;
		for (int64_t panel = lo; panel < hi; panel += width) {
			uint32_t *to = out + ((panel - lo) / width * depth + p) * width;
			for (int64_t i = 0; i < width; i += 16) {
				__mmask16 have = first(columns - panel - i);
				_mm512_store_si512(to + i, pair_of(row + panel + i, have, row + columns + panel + i, both ? have : 0));
			}
		}
	}
}

// transpose copies count pairs of width columns from column lo of a matrix that is stored as
// [columns, k] to [count][width].
static inline void transpose(const uint16_t *x, int64_t k, int64_t columns, int64_t lo, int64_t width, int64_t from,
			     int64_t count, uint32_t *out) {
	int64_t have = least(columns - lo, width);
	for (int64_t i = 0; i < width; i++) {
		const uint16_t *row = x + (lo + i) * k + 2 * from;
		for (int64_t p = 0; p < count; p++) {
			uint32_t pair = i < have ? row[2 * p] : 0;
			if (i < have && 2 * (from + p) + 1 < k)
				pair |= (uint32_t)row[2 * p + 1] << 16;
			out[p * width + i] = pair;
		}
	}
}

// tile_of adds the products of count pairs to rows × COLUMNS elements of c, or sets them. The pair
// p of row r of a is at a[r][p·pair], those of b at b[p·COLUMNS]. c has n elements in a row, of
// which the mask says which belong to the tile.
INLINE void tile_of(int rows, int64_t count, const uint32_t *const *a, int64_t pair, const uint32_t *b, float *c, int64_t n,
		    const __mmask16 mask[VECTORS], int add) {
	__m512 sum[ROWS][VECTORS];
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			sum[r][v] = add ? _mm512_maskz_loadu_ps(mask[v], c + r * n + 16 * v) : _mm512_setzero_ps();
	const uint32_t *at[ROWS];
	for (int r = 0; r < rows; r++)
		at[r] = a[r];
	for (int64_t p = 0; p < count; p++) {
		__m512bh column[VECTORS];
		for (int v = 0; v < VECTORS; v++)
			column[v] = (__m512bh)_mm512_load_si512(b + p * COLUMNS + 16 * v);
		for (int r = 0; r < rows; r++) {
			__m512bh x = (__m512bh)_mm512_set1_epi32(at[r][p * pair]);
			for (int v = 0; v < VECTORS; v++)
				sum[r][v] = _mm512_dpbf16_ps(sum[r][v], x, column[v]);
		}
	}
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			_mm512_mask_storeu_ps(c + r * n + 16 * v, mask[v], sum[r][v]);
}

// columns_left is the masks of the vectors of a panel with so many columns.
INLINE void columns_left(int64_t columns, __mmask16 mask[VECTORS]) {
	for (int v = 0; v < VECTORS; v++)
		mask[v] = first(columns - 16 * v);
}

// block_of is tile_of for up to BLOCK rows.
INLINE void block_of(int64_t rows, int64_t count, const uint32_t *const *a, int64_t pair, const uint32_t *b, float *c, int64_t n,
		     const __mmask16 mask[VECTORS], int add) {
	for (int64_t r = 0; r < rows; r += ROWS, a += ROWS, c += ROWS * n)
		switch (rows - r) {
		case 1: tile_of(1, count, a, pair, b, c, n, mask, add); break;
		case 2: tile_of(2, count, a, pair, b, c, n, mask, add); break;
		case 3: tile_of(3, count, a, pair, b, c, n, mask, add); break;
		case 4: tile_of(4, count, a, pair, b, c, n, mask, add); break;
		case 5: tile_of(5, count, a, pair, b, c, n, mask, add); break;
		default: tile_of(ROWS, count, a, pair, b, c, n, mask, add);
		}
}

#endif
