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

// LOOKUP has out = the numbers of cells Z11 in a column in four registers, from
// its second half where K1 says. A permutation of two registers takes indices
// modulo 32 and writes over them.
#define LOOKUP(c0, c1, c2, c3, out) \
	VMOVDQA64 Z11, out         \
	VMOVDQA64 Z11, Z14         \
	VPERMI2PS c1, c0, out      \
	VPERMI2PS c3, c2, Z14      \
	VBLENDMPS Z14, out, K1, out

// STEP moves one vector of states: u clamped in Z10, m in Z11, the noise's part
// in Z13, the drift's in Z15. VRANGEPS $2 takes the smaller of two magnitudes
// with the first's sign, and top for what is not a number.
#define STEP(vector, x) \
	VRANGEPS $2, Z6, x, Z10     \
	VADDPS   Z8, Z10, Z11       \
	VPMOVD2M x, K1              \
	LOOKUP(Z28, Z29, Z30, Z31, Z12) \
	LOOKUP(Z24, Z25, Z26, Z27, Z13) \
	VMULPS Z10, Z12, Z12        \
	VADDPS Z12, Z13, Z13        \
	VMULPS (64*vector)(R11), Z13, Z13 \
	LOOKUP(Z20, Z21, Z22, Z23, Z12) \
	LOOKUP(Z16, Z17, Z18, Z19, Z15) \
	VMULPS Z10, Z12, Z12        \
	VADDPS Z12, Z15, Z15        \
	VADDPS Z13, Z15, Z15        \
	VADDPS Z15, x, x

// func columnsAVX512(t *table, cells *columns, x *states[float32], z *float32, steps, vectors int) (inside bool)
//
// Up to 64 cells, in Z16–Z31. All lanes advance, in Z0–Z3, whatever vectors
// is: from memory a state would come back too late for its next step, and the
// four hide each other's latency.
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

step:
	STEP(0, Z0)
	STEP(1, Z1)
	STEP(2, Z2)
	STEP(3, Z3)
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
	VCMPPS       $1, Z5, Z4, K1, K1 // less, and so before; not a number is not
	ADDQ         $64, DX
	DECQ         R13
	JNZ          bounded
	KORTESTW     K1, K1
	SETCS        inside+48(FP)
	VZEROUPPER
	RET

// LOCATE writes offset and u of states Y4 to R8, for COLUMNS. VMINPS makes top
// of what is not a number: every index is that of a cell.
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
// Any number of cells, one row of 16 bytes each. Once a vector has moved, its
// next cells are located at once and looked up a round later: the processor
// never waits for the way from state to state.
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
	VCMPPS       $1, Y5, Y4, Y4 // less; not a number is not
	VPAND        Y4, Y7, Y7
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          bounded
	VMOVMSKPS    Y7, AX
	CMPL         AX, $255
	SETEQ        inside+48(FP)
	VZEROUPPER
	RET
