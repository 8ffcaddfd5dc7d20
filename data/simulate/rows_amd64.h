// Lookup of rows of four float32 by loads of 16 bytes, where SI is the address
// of row zero and R8 that of the rows' offsets in bytes, 32 bits each. The
// offsets come from clamped or masked indices: whatever the input, they point
// into the table.
//
// Kernels write the offsets of many vectors before they read the first. A
// processor looks some hundred instructions ahead; with one vector after the
// other it would mostly wait for the way from state to state.

// SCRATCH sets R10 to memory in a frame of at least 64 bytes more than needed,
// aligned because stores across cache lines are slow to read back.
#define SCRATCH \
	LEAQ 63(SP), R10 \
	ANDQ $~63, R10

// LOAD_ROWS has lane j's row in the lower half and lane j+4's in the upper.
#define LOAD_ROWS(j, Y, X) \
	MOVL        (4*j)(R8), AX     \
	MOVL        (4*j+16)(R8), BX  \
	VMOVUPS     (SI)(AX*1), X     \
	VINSERTF128 $1, (SI)(BX*1), Y, Y

// TRANSPOSE turns rows a–d into columns a–d, lanes in order.
#define TRANSPOSE(a, b, c, d, t0, t1, t2, t3) \
	VUNPCKLPS b, a, t0  \
	VUNPCKHPS b, a, t1  \
	VUNPCKLPS d, c, t2  \
	VUNPCKHPS d, c, t3  \
	VUNPCKLPD t2, t0, a \
	VUNPCKHPD t2, t0, b \
	VUNPCKLPD t3, t1, c \
	VUNPCKHPD t3, t1, d

// COLUMNS_Y looks up eight lanes as columns Y8–Y11, using Y12–Y15.
#define COLUMNS_Y \
	LOAD_ROWS(0, Y8, X8)   \
	LOAD_ROWS(1, Y9, X9)   \
	LOAD_ROWS(2, Y10, X10) \
	LOAD_ROWS(3, Y11, X11) \
	TRANSPOSE(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

// COLUMNS_Z looks up sixteen lanes as columns Z8–Z11, using Z12–Z15.
#define COLUMNS_Z \
	LOAD_ROWS(0, Y8, X8)   \
	LOAD_ROWS(1, Y9, X9)   \
	LOAD_ROWS(2, Y10, X10) \
	LOAD_ROWS(3, Y11, X11) \
	LOAD_ROWS(8, Y12, X12)   \
	LOAD_ROWS(9, Y13, X13)   \
	LOAD_ROWS(10, Y14, X14) \
	LOAD_ROWS(11, Y15, X15) \
	VINSERTF64X4 $1, Y12, Z8, Z8   \
	VINSERTF64X4 $1, Y13, Z9, Z9   \
	VINSERTF64X4 $1, Y14, Z10, Z10 \
	VINSERTF64X4 $1, Y15, Z11, Z11 \
	TRANSPOSE(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
