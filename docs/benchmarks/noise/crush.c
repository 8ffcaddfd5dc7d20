/* Runs a battery of TestU01 on 32-bit words from standard input.
 *
 *   crush NAME small|crush|TESTS [reversed]
 *
 * TESTS are some of Crush's 96, as in 1-55 or 56-61,71-72, so that several
 * processes can share the work. TestU01 tests the upper bits of a word more than
 * the lower ones, and never the last; reversed puts the lowest bits first. The
 * output ends with every p-value. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bbattery.h"
#include "swrite.h"
#include "unif01.h"

enum { CRUSH = 96 };

static uint32_t words[1 << 15];
static size_t left = 0;
static uint64_t taken = 0;

static unsigned int forward(void)
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

static unsigned int reversed(void)
{
	uint32_t v = forward();
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	v = (v >> 8 & 0x00ff00ff) | (v & 0x00ff00ff) << 8;
	return v >> 16 | v << 16;
}

/* Marks the tests of a list; 0 if it is none. */
static int choose(const char *list, int rep[])
{
	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;
		if (end != list && *end == '-') {
			list = end + 1;
			last = strtol(list, &end, 10);
		}
		if (end == list || first < 1 || last > CRUSH || first > last || (*end && *end != ','))
			return 0;
		for (; first <= last; first++)
			rep[first] = 1;
		list = *end ? end + 1 : end;
	}
	return 1;
}

int main(int argc, char **argv)
{
	int rep[CRUSH + 1] = {0};
	int i, small, all, outside = 0;
	unif01_Gen *gen;

	small = argc > 2 && !strcmp(argv[2], "small");
	all = argc > 2 && !strcmp(argv[2], "crush");
	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "reversed")) ||
		!(small || all || choose(argv[2], rep))) {
		fprintf(stderr, "usage: crush NAME small|crush|TESTS [reversed] < words\n");
		return 2;
	}
	gen = unif01_CreateExternGenBits(argv[1], argc == 4 ? reversed : forward);
	swrite_Basic = FALSE;
	if (small)
		bbattery_SmallCrush(gen);
	else if (all)
		bbattery_Crush(gen);
	else
		bbattery_RepeatCrush(gen, rep);
	printf("all p-values:\n");
	for (i = 0; i < bbattery_NTests; i++) {
		double p = bbattery_pVal[i];
		int out = p < 1e-4 || p > 1 - 1e-4;
		printf("%-28s %.6g%s\n", bbattery_TestNames[i], p, out ? "  <-- outside" : "");
		outside += out;
	}
	printf("%s %s%s: %d statistics, %d with p outside [1e-4, 1-1e-4], %llu words\n", argv[1], argv[2],
		argc == 4 ? " reversed" : "", bbattery_NTests, outside, (unsigned long long)taken);
	unif01_DeleteExternGenBits(gen);
	return 0;
}
