// Lookup of rows of four float32 by loads of 16 bytes, where SI is the address
// of row zero and R8 that of the rows' offsets in bytes, 32 bits each. The
// offsets come from clamped or masked indices: whatever the input, they point
// into the table.

// ALIGNED_SCRATCH sets a register to room for one vector within a frame of
// twice that size: a store across cache lines would be slow to read back.
#define ALIGNED_SCRATCH(r) \
	LEAQ 31(SP), r  \
	ANDQ $~31, r

// LOAD_ROWS has lane j's row in the lower half and lane j+4's in the upper.
#define LOAD_ROWS(j, Y, X) \
	MOVL        (4*j)(R8), AX             \
	MOVL        (4*j+16)(R8), BX          \
	VMOVUPS     (SI)(AX*1), X             \
	VINSERTF128 $1, (SI)(BX*1), Y, Y

// TRANSPOSE_Y turns rows Y8–Y11 into columns Y8–Y11, lanes in order. It uses
// Y12–Y15.
#define TRANSPOSE_Y \
	VUNPCKLPS Y9, Y8, Y12   \
	VUNPCKHPS Y9, Y8, Y13   \
	VUNPCKLPS Y11, Y10, Y14 \
	VUNPCKHPS Y11, Y10, Y15 \
	VUNPCKLPD Y14, Y12, Y8  \
	VUNPCKHPD Y14, Y12, Y9  \
	VUNPCKLPD Y15, Y13, Y10 \
	VUNPCKHPD Y15, Y13, Y11

// LOAD_ROWS_Z has the rows of lanes j, j+4, j+8 and j+12.
#define LOAD_ROWS_Z(j, Z, Y, X) \
	MOVL         (4*j)(R8), AX          \
	MOVL         (4*j+16)(R8), BX       \
	MOVL         (4*j+32)(R8), R9       \
	MOVL         (4*j+48)(R8), R10      \
	VMOVUPS      (SI)(AX*1), X          \
	VINSERTF128  $1, (SI)(BX*1), Y, Y   \
	VMOVUPS      (SI)(R9*1), X12        \
	VINSERTF128  $1, (SI)(R10*1), Y12, Y12 \
	VINSERTF64X4 $1, Y12, Z, Z

// TRANSPOSE_Z is TRANSPOSE_Y for sixteen lanes.
#define TRANSPOSE_Z \
	VUNPCKLPS Z9, Z8, Z12   \
	VUNPCKHPS Z9, Z8, Z13   \
	VUNPCKLPS Z11, Z10, Z14 \
	VUNPCKHPS Z11, Z10, Z15 \
	VUNPCKLPD Z14, Z12, Z8  \
	VUNPCKHPD Z14, Z12, Z9  \
	VUNPCKLPD Z15, Z13, Z10 \
	VUNPCKHPD Z15, Z13, Z11
