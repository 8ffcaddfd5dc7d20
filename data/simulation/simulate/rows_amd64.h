// Lookup of rows of four float32 by loads of 16 bytes, where SI is the address
// of row zero and R8 that of eight lanes' offsets in bytes, 32 bits each. The
// offsets come from clamped or masked indices: whatever the input, they point
// into the table.
//
// Kernels write the offsets of many vectors before they read the first. A processor
// looks a few hundred instructions ahead; with one vector after the other it would
// mostly wait for the latency from one state to the next.

// SCRATCH sets R10 to memory in a frame of 64 bytes more than needed, aligned
// because stores across cache lines are slow to read back.
#define SCRATCH \
	LEAQ 63(SP), R10 \
	ANDQ $~63, R10

// LOAD_ROWS has lane j's row in the lower half and lane j+4's in the upper.
#define LOAD_ROWS(j, Y, X) \
	MOVL        (4*j)(R8), AX     \
	MOVL        (4*j+16)(R8), BX  \
	VMOVUPS     (SI)(AX*1), X     \
	VINSERTF128 $1, (SI)(BX*1), Y, Y

// COLUMNS has the rows' first numbers in Y8, lanes in order, the second in Y9,
// the third in Y10, the fourth in Y11. It uses AX, BX and Y12–Y15.
#define COLUMNS \
	LOAD_ROWS(0, Y8, X8)    \
	LOAD_ROWS(1, Y9, X9)    \
	LOAD_ROWS(2, Y10, X10)  \
	LOAD_ROWS(3, Y11, X11)  \
	TRANSPOSE

// TRANSPOSE does so to Y8–Y11, in each half, as matrices of 4×4.
#define TRANSPOSE \
	VUNPCKLPS Y9, Y8, Y12   \
	VUNPCKHPS Y9, Y8, Y13   \
	VUNPCKLPS Y11, Y10, Y14 \
	VUNPCKHPS Y11, Y10, Y15 \
	VUNPCKLPD Y14, Y12, Y8  \
	VUNPCKHPD Y14, Y12, Y9  \
	VUNPCKLPD Y15, Y13, Y10 \
	VUNPCKHPD Y15, Y13, Y11
