#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*table).advance for a vector of lanes at a time: see table.go for what it
// computes, in the same order and without fused operations. Operands are in
// Go's order, the destination last.

DATA tableConstants<>+0(SB)/4, $const_magicBits
DATA tableConstants<>+4(SB)/4, $0x7fffffff // all but the sign
DATA tableConstants<>+8(SB)/4, $0x80000000 // the sign
GLOBL tableConstants<>(SB), RODATA|NOPTR, $12

// ARGUMENTS takes a kernel's: the table, its cells in the kernel's form, the
// states, the normals of the first step, the numbers of steps and of vectors,
// both at least 1.
#define ARGUMENTS \
	MOVQ t+0(FP), DI       \
	MOVQ cells+8(FP), SI   \
	MOVQ x+16(FP), DX      \
	MOVQ z+24(FP), R11     \
	MOVQ steps+32(FP), R12 \
	MOVQ vectors+40(FP), R13

// HEAD has what a vector of states x needs for its lookups: u, clamped, the cell
// m and the mask k of negative states. VRANGEPS $2 takes the smaller of two
// magnitudes with the first's sign, and top for NaN.
#define HEAD(x, u, m, k) \
	VRANGEPS $2, Z6, x, u \
	VADDPS   Z8, u, m     \
	VPMOVD2M x, k

// STEP moves a vector x of states after its HEAD, and computes the HEAD of the next.
// A permutation of two registers takes indices modulo 32 and overwrites them; two
// permutations and a blend look a number up. The order of instructions is the best
// of some two thousand on Zen 4: with one lookup after the other, and x's own HEAD
// before them, a step takes 5 % longer.
#define STEP(vector, x, u, m, k, nextX, nextU, nextM, nextK) \
	VMOVDQA64 m, Z9                    \
	VMOVDQA64 m, Z12                   \
	VMOVDQA64 m, Z14                   \
	VPERMI2PS Z29, Z28, Z12            \
	VMOVDQA64 m, Z13                   \
	VPERMI2PS Z31, Z30, Z13            \
	VPERMI2PS Z25, Z24, Z14            \
	VPERMI2PS Z27, Z26, Z9             \
	VBLENDMPS Z13, Z12, k, Z12         \
	VBLENDMPS Z9, Z14, k, Z14          \
	VMULPS    u, Z12, Z12              \
	VADDPS    Z12, Z14, Z14            \
	VMOVDQA64 m, Z7                    \
	VMOVDQA64 m, Z15                   \
	VMOVDQA64 m, Z13                   \
	VPERMI2PS Z21, Z20, Z15            \
	VPERMI2PS Z23, Z22, Z7             \
	VRANGEPS  $2, Z6, nextX, nextU     \
	VPERMI2PS Z19, Z18, Z13            \
	VMULPS    (64*vector)(R11), Z14, Z14 \
	VPERMI2PS Z17, Z16, m              \
	VBLENDMPS Z7, Z15, k, Z15          \
	VBLENDMPS Z13, m, k, m             \
	VMULPS    u, Z15, Z15              \
	VADDPS    Z15, m, m                \
	VADDPS    Z14, m, m                \
	VADDPS    m, x, x                  \
	VADDPS    Z8, nextU, nextM         \
	VPMOVD2M  nextX, nextK

// func columnsAVX512(t *table, cells *columns, x *states[float32], z *float32, steps, vectors int) (inside bool)
//
// Up to 64 cells, in Z16–Z31. All lanes advance, in Z0–Z3, for any number of
// vectors: a state in memory would be late for its next step, and the four vectors
// hide each other's latency.
TEXT ·columnsAVX512(SB), NOSPLIT, $0-49
	ARGUMENTS
	VMOVUPS      (columns_drift+0)(SI), Z16
	VMOVUPS      (columns_drift+64)(SI), Z17
	VMOVUPS      (columns_drift+128)(SI), Z18
	VMOVUPS      (columns_drift+192)(SI), Z19
	VMOVUPS      (columns_driftSlope+0)(SI), Z20
	VMOVUPS      (columns_driftSlope+64)(SI), Z21
	VMOVUPS      (columns_driftSlope+128)(SI), Z22
	VMOVUPS      (columns_driftSlope+192)(SI), Z23
	VMOVUPS      (columns_noise+0)(SI), Z24
	VMOVUPS      (columns_noise+64)(SI), Z25
	VMOVUPS      (columns_noise+128)(SI), Z26
	VMOVUPS      (columns_noise+192)(SI), Z27
	VMOVUPS      (columns_noiseSlope+0)(SI), Z28
	VMOVUPS      (columns_noiseSlope+64)(SI), Z29
	VMOVUPS      (columns_noiseSlope+128)(SI), Z30
	VMOVUPS      (columns_noiseSlope+192)(SI), Z31
	VBROADCASTSS table_top(DI), Z6
	VBROADCASTSS tableConstants<>+0(SB), Z8
	VMOVUPS      0(DX), Z0
	VMOVUPS      64(DX), Z1
	VMOVUPS      128(DX), Z2
	VMOVUPS      192(DX), Z3
	HEAD(Z0, Z10, Z11, K1)

step:
	STEP(0, Z0, Z10, Z11, K1, Z1, Z4, Z5, K2)
	STEP(1, Z1, Z4, Z5, K2, Z2, Z10, Z11, K1)
	STEP(2, Z2, Z10, Z11, K1, Z3, Z4, Z5, K2)
	STEP(3, Z3, Z4, Z5, K2, Z0, Z10, Z11, K1)
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step

	VMOVUPS      Z0, 0(DX)
	VMOVUPS      Z1, 64(DX)
	VMOVUPS      Z2, 128(DX)
	VMOVUPS      Z3, 192(DX)
	VBROADCASTSS table_limit(DI), Z5
	VBROADCASTSS tableConstants<>+4(SB), Z6
	KXNORW       K1, K1, K1

bounded:
	VPANDD       (DX), Z6, Z4
	VCMPPS       $1, Z5, Z4, K1, K1 // less, and so before; false for NaN
	ADDQ         $64, DX
	DECQ         R13
	JNZ          bounded
	KORTESTW     K1, K1
	SETCS        inside+48(FP)
	VZEROUPPER
	RET

// LOCATE writes offset and u of states Y4 to R8, for COLUMNS. VMINPS turns NaN into
// top, so every index is that of a cell.
#define LOCATE \
	VMINPS  Y2, Y4, Y6 \
	VMAXPS  Y3, Y6, Y6 \
	VADDPS  Y5, Y6, Y7 \
	VPSUBD  Y0, Y7, Y7 \
	VPSLLD  $4, Y7, Y7 \
	VMOVDQU Y7, (R8)   \
	VMOVUPS Y6, (4*const_lanes)(R8)

// func rowsAVX2(t *table, cells *cell, x *states[float32], z *float32, steps, vectors int) (inside bool)
//
// Any number of cells, one row of 16 bytes each. After a vector has moved, its next
// cells are located at once and looked up one round later, so the processor never
// waits for the latency from one state to the next.
TEXT ·rowsAVX2(SB), NOSPLIT, $576-49
	ARGUMENTS
	SCRATCH
	VPBROADCASTD table_base(DI), Y0
	VBROADCASTSS table_top(DI), Y2
	VBROADCASTSS tableConstants<>+8(SB), Y3
	VXORPS       Y2, Y3, Y3 // −top
	VBROADCASTSS tableConstants<>+0(SB), Y5
	SHLQ         $5, R13 // bytes
	XORL         CX, CX
	MOVQ         R10, R8

locate:
	VMOVUPS      (DX)(CX*1), Y4
	LOCATE
	ADDQ         $32, R8
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          locate

step:
	XORL         CX, CX
	MOVQ         R10, R8

vector:
	COLUMNS
	VMOVUPS      (4*const_lanes)(R8), Y6
	VMOVUPS      (DX)(CX*1), Y4
	VMULPS       Y6, Y9, Y9
	VADDPS       Y9, Y8, Y8 // the drift
	VMULPS       Y6, Y11, Y11
	VADDPS       Y11, Y10, Y10
	VMULPS       (R11)(CX*1), Y10, Y10 // the noise
	VADDPS       Y10, Y8, Y8
	VADDPS       Y8, Y4, Y4
	VMOVUPS      Y4, (DX)(CX*1)
	LOCATE
	ADDQ         $32, R8
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          vector
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step

	VBROADCASTSS table_limit(DI), Y5
	VBROADCASTSS tableConstants<>+4(SB), Y6
	VPCMPEQD     Y7, Y7, Y7
	XORL         CX, CX

bounded:
	VANDPS       (DX)(CX*1), Y6, Y4
	VCMPPS       $1, Y5, Y4, Y4 // less; false for NaN
	VPAND        Y4, Y7, Y7
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          bounded
	VMOVMSKPS    Y7, AX
	CMPL         AX, $255
	SETEQ        inside+48(FP)
	VZEROUPPER
	RET
