// Standard normal numbers for LANES chains at once: xoshiro128+ in every lane
// (Blackman and Vigna 2018) and both halves of Box–Muller, by polynomials, so
// that the compiler makes vectors of the loop over lanes.
#include <math.h>
#include <stdint.h>

#define LANES 64

typedef struct {
	uint32_t s0[LANES], s1[LANES], s2[LANES], s3[LANES];
} generator;

static uint64_t splitmix(uint64_t *s) {
	uint64_t z = (*s += 0x9E3779B97F4A7C15u);
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static void seed(generator *g, uint64_t s) {
	for (int l = 0; l < LANES; l++) {
		uint64_t a = splitmix(&s), b = splitmix(&s);
		g->s0[l] = a, g->s1[l] = a >> 32, g->s2[l] = b, g->s3[l] = b >> 32 | 1;
	}
}

// Natural logarithm of u in (0, 1]: mantissa in [2/3, 4/3), polynomial of Cephes.
static inline float logarithm(float u) {
	union { float f; int32_t i; } b = {u};
	int32_t e = (b.i - 0x3f2aaaab) >> 23;
	b.i -= e << 23;
	float f = b.f - 1, p = 7.0376836292e-2f;
	p = p * f - 1.1514610310e-1f, p = p * f + 1.1676998740e-1f, p = p * f - 1.2420140846e-1f;
	p = p * f + 1.4249322787e-1f, p = p * f - 1.6668057665e-1f, p = p * f + 2.0000714765e-1f;
	p = p * f - 2.4999993993e-1f, p = p * f + 3.3333331174e-1f;
	return (f - 0.5f * f * f + p * f * f * f) + 0.693147181f * e;
}

// normals fills rows 0 to 2·pairs−1 of out. An angle is a or a + π with |a| ≤ π/2;
// Taylor polynomials of sine and cosine, error below 6e-6.
static inline void normals(generator *g, float (*restrict out)[LANES], int pairs) {
	for (int k = 0; k < pairs; k++) {
		for (int l = 0; l < LANES; l++) {
			uint32_t s0 = g->s0[l], s1 = g->s1[l], s2 = g->s2[l], s3 = g->s3[l], r[2];
			for (int i = 0; i < 2; i++) {
				r[i] = s0 + s3;
				uint32_t t = s1 << 9;
				s2 ^= s0, s3 ^= s1, s1 ^= s2, s0 ^= s3, s2 ^= t, s3 = s3 << 11 | s3 >> 21;
			}
			g->s0[l] = s0, g->s1[l] = s1, g->s2[l] = s2, g->s3[l] = s3;
			float u = ((float)(int32_t)(r[0] >> 9) + 0.5f) * 0x1p-23f;
			float a = ((float)(int32_t)(r[1] >> 8) * 0x1p-24f - 0.5f) * 3.14159265f, q = a * a;
			float cosine = 1 + q * (-1 / 2.f + q * (1 / 24.f + q * (-1 / 720.f + q * (1 / 40320.f - q / 3628800.f))));
			float sine = a * (1 + q * (-1 / 6.f + q * (1 / 120.f + q * (-1 / 5040.f + q * (1 / 362880.f - q / 39916800.f)))));
			union { float f; uint32_t i; } radius = {sqrtf(-2 * logarithm(u))};
			radius.i ^= r[1] << 31; // the angle plus π
			out[2 * k][l] = radius.f * cosine;
			out[2 * k + 1][l] = radius.f * sine;
		}
	}
}
