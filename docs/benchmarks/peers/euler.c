// Euler–Maruyama in C, as a peer (serve.py says how the driver talks with it).
//
//	gcc -O3 -march=native -mprefer-vector-width=512 -ffast-math -fopenmp -DSYSTEM='"line.h"' euler.c -lm
//	./a.out TABLE CHAINS STEPS AMOUNT
//
// TABLE is a file of float32: scale, offset, top, noise, then the cells of
// problem.py. AMOUNT is what one step of all chains counts for. Chains advance
// LANES at a time; OpenMP shares groups of lanes among threads.
#include "noise.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	float scale, offset, top, noise;
	float cells[1 << 15] __attribute__((aligned(64)));
} problem;

#include SYSTEM

int main(int argc, char **argv) {
	if (argc != 5)
		return 2;
	static problem p;
	FILE *file = fopen(argv[1], "rb");
	if (!file || fread(&p, sizeof(float), 4, file) != 4 || fread(p.cells, 1, sizeof p.cells, file) == 0)
		return 1;
	fclose(file);
	int groups = atoi(argv[2]) / LANES, n = atoi(argv[3]);
	float(*x)[DIMENSION][LANES] = aligned_alloc(64, groups * sizeof *x);
	generator *g = aligned_alloc(64, groups * sizeof *g);
	for (int i = 0; i < groups; i++) {
		seed(&g[i], i);
		for (int d = 0; d < DIMENSION; d += 2) {
			float z[2][LANES];
			normals(&g[i], z, 1);
			for (int l = 0; l < LANES; l++)
				for (int e = 0; e < 2 && d + e < DIMENSION; e++)
					x[i][d + e][l] = z[e][l];
		}
	}
	char name[64];
	double least = 0;
	for (int ready = 0; !ready || scanf("%lf %63s", &least, name) == 2; ready = 1) {
		double start = omp_get_wtime(), seconds, square = 0;
		long rounds = 0;
		do {
#pragma omp parallel for schedule(dynamic)
			for (int i = 0; i < groups; i++)
				steps(&p, x[i], &g[i], n);
			rounds++;
		} while ((seconds = omp_get_wtime() - start) < least);
		for (int i = 0; i < groups; i++)
			for (int d = 0; d < DIMENSION; d++)
				for (int l = 0; l < LANES; l++)
					square += x[i][d][l] * x[i][d][l];
		if (!ready)
			printf("{\"variants\": [\"C\"], \"versions\": {\"gcc\": \"%s\"}}\n", __VERSION__);
		else
			printf("{\"rate\": %.6g, \"seconds\": %.4f, \"check\": %.6g}\n", rounds * (double)n * atof(argv[4]) / seconds, seconds,
			       square / ((double)groups * DIMENSION * LANES));
		fflush(stdout);
	}
}
