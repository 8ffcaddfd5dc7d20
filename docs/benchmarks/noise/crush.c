/* Runs a battery of TestU01 on 32-bit words from standard input.
 *
 *   crush NAME small|crush|linear [reversed]
 *
 * linear is the part of Crush that finds linear relations between bits:
 * MatrixRank, LinearComp. TestU01 looks at the upper bits of a word more than
 * at the lower ones, at the last not at all; reversed puts the lowest first.
 * Every p-value is printed at the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bbattery.h"
#include "swrite.h"
#include "unif01.h"

static uint32_t words[1 << 15];
static size_t left = 0;
static uint64_t taken = 0;

static uint32_t next(void)
{
	const size_t size = sizeof words / sizeof *words;
	if (left == 0) {
		if (fread(words, sizeof *words, size, stdin) != size) {
			fprintf(stderr, "crush: the stream ended after %llu words\n", (unsigned long long)taken);
			exit(1);
		}
		left = size;
		taken += size;
	}
	return words[size - left--];
}

static unsigned int forward(void)
{
	return next();
}

static unsigned int reversed(void)
{
	uint32_t v = next();
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	v = (v >> 8 & 0x00ff00ff) | (v & 0x00ff00ff) << 8;
	return v >> 16 | v << 16;
}

int main(int argc, char **argv)
{
	int rep[200] = {0};
	int i, outside = 0;
	double p;
	unif01_Gen *gen;

	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "reversed")) ||
		(strcmp(argv[2], "small") && strcmp(argv[2], "crush") && strcmp(argv[2], "linear"))) {
		fprintf(stderr, "usage: crush NAME small|crush|linear [reversed] < words\n");
		return 2;
	}
	gen = unif01_CreateExternGenBits(argv[1], argc == 4 ? reversed : forward);
	swrite_Basic = FALSE;
	if (!strcmp(argv[2], "small")) {
		bbattery_SmallCrush(gen);
	} else if (!strcmp(argv[2], "crush")) {
		bbattery_Crush(gen);
	} else {
		for (i = 56; i <= 61; i++) /* MatrixRank */
			rep[i] = 1;
		rep[71] = rep[72] = 1; /* LinearComp */
		bbattery_RepeatCrush(gen, rep);
	}
	printf("all p-values:\n");
	for (i = 0; i < bbattery_NTests; i++) {
		p = bbattery_pVal[i];
		printf("%-28s %.6g%s\n", bbattery_TestNames[i], p, p < 1e-4 || p > 1 - 1e-4 ? "  <-- outside" : "");
		outside += p < 1e-4 || p > 1 - 1e-4;
	}
	printf("%s %s%s: %d statistics, %d with p outside [1e-4, 1-1e-4], %llu words\n",
		argv[1], argv[2], argc == 4 ? " reversed" : "", bbattery_NTests, outside, (unsigned long long)taken);
	unif01_DeleteExternGenBits(gen);
	return 0;
}
