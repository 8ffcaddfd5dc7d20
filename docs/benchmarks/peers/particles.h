// 32 particles in the plane: coordinate 2i and 2i+1 of particle i, Newton's
// third law, force linear on r².
enum { PARTICLES = 32, DIMENSION = 2 * PARTICLES };

static void steps(const problem *p, float x[DIMENSION][LANES], generator *g, int n) {
	const float *restrict cells = p->cells;
	const float scale = p->scale, top = p->top, trap = p->offset, noise = p->noise;
	float z[DIMENSION][LANES] __attribute__((aligned(64)));
	for (; n > 0; n--) {
		normals(g, z, DIMENSION / 2);
		for (int i = 0; i < DIMENSION; i++)
			for (int l = 0; l < LANES; l++)
				z[i][l] = trap * x[i][l] + noise * z[i][l];
		for (int i = 0; i < DIMENSION; i += 2) {
			float fx[LANES] = {0}, fy[LANES] = {0};
			for (int j = i + 2; j < DIMENSION; j += 2)
#pragma omp simd
				for (int l = 0; l < LANES; l++) {
					float dx = x[i][l] - x[j][l], dy = x[i + 1][l] - x[j + 1][l];
					float u = (dx * dx + dy * dy) * scale;
					u = u > top ? top : u;
					int c = (int)u;
					float f = cells[2 * c] + (u - c) * cells[2 * c + 1];
					fx[l] += f * dx, fy[l] += f * dy;
					z[j][l] -= f * dx, z[j + 1][l] -= f * dy;
				}
			for (int l = 0; l < LANES; l++)
				z[i][l] += fx[l], z[i + 1][l] += fy[l];
		}
		for (int i = 0; i < DIMENSION; i++)
			for (int l = 0; l < LANES; l++)
				x[i][l] += z[i][l];
	}
}
