#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"
#include "particles_amd64.h"

// (*pairTable).energies and weigh, as particles_amd64.s has pairs and move.

// WEIGH_ARGUMENTS are those of weigh.
#define WEIGH_ARGUMENTS \
	MOVQ t+0(FP), SI   \
	MOVQ y+8(FP), BX   \
	MOVQ fy+16(FP), CX \
	MOVQ fx+24(FP), DI \
	MOVQ x+32(FP), DX  \
	MOVQ w+40(FP), R8  \
	MOVQ count+48(FP), R12

// WEIGH is a coordinate of weigh, with y − x in delta and the drifts in d and e.
#define WEIGH(trap, w, x, y, delta, d, e, s) \
	VMOVUPS (DX), x             \
	VMOVUPS (BX), y             \
	VSUBPS  x, y, delta         \
	VMULPS  trap, x, d          \
	VMOVUPS (DI), e             \
	VSUBPS  d, e, d             \
	VMULPS  trap, y, e          \
	VMOVUPS (CX), s             \
	VSUBPS  e, s, e             \
	VADDPS  e, d, s             \
	VSUBPS  e, d, d             \
	VADDPS  delta, delta, e     \
	VSUBPS  e, d, d             \
	VMULPS  d, s, s             \
	VADDPS  y, x, x             \
	VMULPS  x, delta, delta     \
	VMULPS  trap, delta, delta  \
	VADDPS  delta, delta, delta \
	VSUBPS  delta, s, s         \
	VADDPS  s, w, w             \
	ADDQ    $64, DX             \
	ADDQ    $64, BX             \
	ADDQ    $64, DI             \
	ADDQ    $64, CX

// func energiesAVX512(t *pairTable, f, x *float32, first, end, from, to int, u *float32)
//
// The table of the force stays in Z16–Z23, half of that of the potential in Z24. Each power of t gives
// its part of the force in Z4 and of the integral in Z5.
TEXT ·energiesAVX512(SB), NOSPLIT, $0-64
	PAIR_ARGUMENTS
	MOVQ    u+56(FP), R8
	LOAD_TABLE
	VMOVUPS (pairTable_potential+0)(SI), Z24
	VMOVUPS (pairTable_potential+64)(SI), Z25
	VPBROADCASTD pairConstants<>+0(SB), Z11 // 1
	VBROADCASTSS pairConstants<>+12(SB), Z13
	VBROADCASTSS pairConstants<>+16(SB), Z14
	VBROADCASTSS pairConstants<>+20(SB), Z15
	VBROADCASTSS pairTable_core(SI), Z10

row:
	ROW(next)
	VMOVUPS (DX)(R9*1), Z27
	VMOVUPS 64(DX)(R9*1), Z28
	VMOVUPS (DI)(R9*1), Z29
	VMOVUPS 64(DI)(R9*1), Z30
	MOVQ    R9, BX
	SHRQ    $1, BX
	VMOVUPS (R8)(BX*1), Z31

pair:
	OFFSET(0, Z0, Z1, Z2, Z3)
	CELL(Z2, Z3)
	VMOVDQA64 Z3, Z6
	VPERMI2PS Z23, Z22, Z6
	VMULPS    Z2, Z6, Z4
	VMULPS    Z15, Z6, Z5
	VMULPS    Z2, Z5, Z5
	VMOVDQA64 Z3, Z6
	VPERMI2PS Z21, Z20, Z6
	VADDPS    Z4, Z6, Z4
	VMULPS    Z2, Z4, Z4
	VMULPS    Z14, Z6, Z6
	VADDPS    Z5, Z6, Z5
	VMULPS    Z2, Z5, Z5
	VMOVDQA64 Z3, Z6
	VPERMI2PS Z19, Z18, Z6
	VADDPS    Z4, Z6, Z4
	VMULPS    Z2, Z4, Z4
	VMULPS    Z13, Z6, Z6
	VADDPS    Z5, Z6, Z5
	VMULPS    Z2, Z5, Z5
	VMOVDQA64 Z3, Z6
	VPERMI2PS Z17, Z16, Z6
	VADDPS    Z4, Z6, Z4 // f·Δt
	VADDPS    Z5, Z6, Z5
	VMULPS    Z2, Z5, Z5 // the integral
	VPERMI2PS Z25, Z24, Z3
	VSUBPS    Z5, Z3, Z3
	VCMPPS    $1, Z11, Z2, K1 // t < 1
	VADDPS    Z10, Z3, K1, Z3
	VADDPS    Z3, Z31, Z31

	REACT(0, Z0, Z1, Z4, Z6)
	ADDQ    $128, CX
	CMPQ    CX, R11
	JLT     pair

	VMOVUPS Z29, (DI)(R9*1)
	VMOVUPS Z30, 64(DI)(R9*1)
	VMOVUPS Z31, (R8)(BX*1)

next:
	ADDQ $128, R9
	CMPQ R9, R12
	JLT  row
	VZEROUPPER
	RET

// func energiesAVX2(t *pairTable, f, x *float32, first, end, from, to int, u *float32)
//
// Columns are located as by pairsAVX2.
TEXT ·energiesAVX2(SB), NOSPLIT, $584-64
	PAIR_ARGUMENTS
	SCRATCH
	VBROADCASTSS pairTable_offset(SI), Y4
	VPBROADCASTD pairConstants<>+0(SB), Y5 // 1
	LEAQ         pairTable_rows(SI), SI

row:
	ROW(next)
	VMOVUPS (DX)(R9*1), Y0
	VMOVUPS 64(DX)(R9*1), Y1
	VMOVUPS (DI)(R9*1), Y2
	VMOVUPS 64(DI)(R9*1), Y3
	MOVQ    R9, BX
	SHRQ    $1, BX
	ADDQ    u+56(FP), BX
	VMOVUPS (BX), Y6

columns:
	MOVQ         CX, AX // the first of these columns
	LEAQ         1024(CX), BX
	CMPQ         BX, R11
	CMOVQGT      R11, BX
	MOVQ         BX, end-8(SP) // the end of these columns
	MOVQ         R10, R8
	VPBROADCASTD pairConstants<>+4(SB), Y10

locate:
	LOCATE(Y10)
	CMPQ CX, BX
	JLT  locate

	MOVQ AX, CX
	MOVQ R10, R8

pair:
	COLUMNS
	VMOVUPS      32(R8), Y7
	VMULPS       Y7, Y11, Y12
	VBROADCASTSS pairConstants<>+20(SB), Y13
	VMULPS       Y13, Y11, Y11
	VMULPS       Y7, Y11, Y11
	VADDPS       Y12, Y10, Y12
	VMULPS       Y7, Y12, Y12
	VBROADCASTSS pairConstants<>+16(SB), Y13
	VMULPS       Y13, Y10, Y10
	VADDPS       Y11, Y10, Y11
	VMULPS       Y7, Y11, Y11
	VADDPS       Y12, Y9, Y12
	VMULPS       Y7, Y12, Y12
	VBROADCASTSS pairConstants<>+12(SB), Y13
	VMULPS       Y13, Y9, Y9
	VADDPS       Y11, Y9, Y11
	VMULPS       Y7, Y11, Y11
	VADDPS       Y12, Y8, Y12 // f·Δt
	VADDPS       Y11, Y8, Y11
	VMULPS       Y7, Y11, Y11 // the integral
	VMOVDQU      (R8), Y9
	VPSRLD       $2, Y9, Y9
	VPCMPEQD     Y13, Y13, Y13
	VGATHERDPS   Y13, (pairTable_potential-pairTable_rows)(SI)(Y9*1), Y10
	VSUBPS       Y11, Y10, Y11
	VCMPPS       $1, Y5, Y7, Y13 // t < 1
	VBROADCASTSS (pairTable_core-pairTable_rows)(SI), Y14
	VANDPS       Y14, Y13, Y13
	VADDPS       Y13, Y11, Y11
	VADDPS       Y11, Y6, Y6

	PUSH(Y12, Y13, Y14)
	ADDQ    $64, R8
	ADDQ    $128, CX
	CMPQ    CX, end-8(SP)
	JLT     pair

	CMPQ    CX, R11
	JLT     columns
	VMOVUPS Y2, (DI)(R9*1)
	VMOVUPS Y3, 64(DI)(R9*1)
	MOVQ    R9, BX
	SHRQ    $1, BX
	ADDQ    u+56(FP), BX
	VMOVUPS Y6, (BX)

next:
	ADDQ $128, R9
	CMPQ R9, R12
	JLT  row
	VZEROUPPER
	RET

// func weighAVX512(t *pairTable, y, fy, fx, x, w *float32, count int)
TEXT ·weighAVX512(SB), NOSPLIT, $0-56
	WEIGH_ARGUMENTS
	VBROADCASTSS pairTable_trap(SI), Z0
	VMOVUPS      (R8), Z1

coordinate:
	WEIGH(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	DECQ    R12
	JNZ     coordinate

	VMOVUPS Z1, (R8)
	VZEROUPPER
	RET

// func weighAVX2(t *pairTable, y, fy, fx, x, w *float32, count int)
TEXT ·weighAVX2(SB), NOSPLIT, $0-56
	WEIGH_ARGUMENTS
	VBROADCASTSS pairTable_trap(SI), Y0
	VMOVUPS      (R8), Y1

coordinate:
	WEIGH(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	DECQ    R12
	JNZ     coordinate

	VMOVUPS Y1, (R8)
	VZEROUPPER
	RET
