// One dimension: rows (b, b′, σ, σ′) of a cell, next to each other.

enum { DIMENSION = 1, WINDOW = 16 };

static void steps(const problem *p, float x[DIMENSION][LANES], generator *g, int n) {
	const float *restrict cells = p->cells;
	const float scale = p->scale, offset = p->offset, top = p->top;
	float z[WINDOW][LANES] __attribute__((aligned(64)));
	for (; n > 0; n -= WINDOW) {
		normals(g, z, WINDOW / 2);
		for (int k = 0; k < WINDOW; k++)
#pragma omp simd
			for (int l = 0; l < LANES; l++) {
				float u = x[0][l] * scale + offset;
				u = u < 0 ? 0 : u;
				u = u > top ? top : u;
				int i = (int)u;
				float d = u - i;
				i *= 4;
				x[0][l] += (cells[i] + d * cells[i + 1]) + (cells[i + 2] + d * cells[i + 3]) * z[k][l];
			}
	}
}
