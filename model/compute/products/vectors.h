// Functions of vectors of 16 float32, for processors with AVX-512 and its BF16 extension.

#ifndef ERGOFLOW_PRODUCTS_VECTORS_H_
#define ERGOFLOW_PRODUCTS_VECTORS_H_

#include <immintrin.h>
#include <stdint.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

static inline int64_t over(int64_t n, int64_t d) { return (n + d - 1) / d; }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// first is a mask of the first n of 16 lanes.
static inline __mmask16 first(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (1u << n) - 1; }

// normal returns the density of the normal distribution at x, and Φ(x), both to about 2e-7.
//
// With u = |x|/√2 it is 2Φ(-|x|) = erfc(u) = (a₁t + … + a₅t⁵)·exp(-u²), t = 1/(1 + pu), to 1.5e-7:
// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
INLINE void normal(__m512 x, __m512 *density, __m512 *below) {
	const __m512 one = _mm512_set1_ps(1), half = _mm512_set1_ps(0.5f);
	__m512 square = _mm512_mul_ps(_mm512_mul_ps(x, x), half); // u²
	// exp(-u²) = 2ⁿ·exp(r), |r| ≤ ln 2/2, by the Taylor polynomial.
	__m512 z = _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), square), _mm512_set1_ps(-87));
	__m512 n = _mm512_roundscale_ps(_mm512_mul_ps(z, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	__m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), z);
	r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
	__m512 e = _mm512_set1_ps(1.f / 720);
	e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.f / 120));
	e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.f / 24));
	e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.f / 6));
	e = _mm512_fmadd_ps(e, r, half);
	e = _mm512_fmadd_ps(e, r, one);
	e = _mm512_fmadd_ps(e, r, one);
	e = _mm512_scalef_ps(e, n);
	// 1/(1 + pu): an approximation to 14 bits, and a step of Newton's method.
	__m512 d = _mm512_fmadd_ps(_mm512_abs_ps(x), _mm512_set1_ps(0.3275911f * 0.70710678f), one);
	__m512 t = _mm512_rcp14_ps(d);
	t = _mm512_mul_ps(t, _mm512_fnmadd_ps(d, t, _mm512_set1_ps(2)));
	__m512 a = _mm512_set1_ps(1.061405429f);
	a = _mm512_fmadd_ps(a, t, _mm512_set1_ps(-1.453152027f));
	a = _mm512_fmadd_ps(a, t, _mm512_set1_ps(1.421413741f));
	a = _mm512_fmadd_ps(a, t, _mm512_set1_ps(-0.284496736f));
	a = _mm512_fmadd_ps(a, t, _mm512_set1_ps(0.254829592f));
	__m512 tail = _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(a, t), e), half); // Φ(-|x|)
	__mmask16 negative = _mm512_movepi32_mask(_mm512_castps_si512(x));
	*below = _mm512_mask_mov_ps(_mm512_sub_ps(one, tail), negative, tail);
	*density = _mm512_mul_ps(e, _mm512_set1_ps(0.398942280f));
}

// gelu is x·Φ(x).
INLINE __m512 gelu(__m512 x) {
	__m512 density, below;
	normal(x, &density, &below);
	return _mm512_mul_ps(x, below);
}

// slope_of_gelu is Φ(x) + x·φ(x).
INLINE __m512 slope_of_gelu(__m512 x) {
	__m512 density, below;
	normal(x, &density, &below);
	return _mm512_fmadd_ps(x, density, below);
}

// widened is 16 bfloat16 as float32.
INLINE __m512 widened(const uint16_t *x) {
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)), 16));
}

// store_rounded writes the lanes of the mask as bfloat16, rounded to the nearest.
INLINE void store_rounded(uint16_t *to, __mmask16 mask, __m512 x) {
	_mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(x));
}

#endif
