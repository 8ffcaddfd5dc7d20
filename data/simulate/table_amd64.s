#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*table).advance for a vector of lanes at a time: see table.go for what it
// computes, in the same order and without fused operations. Operands are in
// Go's order, the destination last.

DATA tableConstants<>+0(SB)/4, $0xbf000000 // −½ in float32
DATA tableConstants<>+4(SB)/4, $const_magicBits
DATA tableConstants<>+8(SB)/4, $(const_magicBits+32)
DATA tableConstants<>+12(SB)/4, $0x49742400 // bound in float32
DATA tableConstants<>+16(SB)/4, $0x7fffffff // all but the sign
GLOBL tableConstants<>(SB), RODATA|NOPTR, $20

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

// LOOKUP has out = the numbers at indices Z7 modulo 64 of a column in four
// registers. K1 marks the indices from 32 on. A permutation of two registers
// takes indices modulo 32 and writes over them.
#define LOOKUP(c0, c1, c2, c3, out) \
	VMOVDQA64 Z7, out     \
	VMOVDQA64 Z7, Z12     \
	VPERMI2PS c1, c0, out \
	VPERMI2PS c3, c2, Z12 \
	VMOVAPS   Z12, K1, out

// func columnsAVX512(t *table, cells *columns, x *[lanes]float32, z *float32, steps, vectors int) (inside bool)
//
// Up to 64 cells, in Z13–Z23 and Z0–Z3 and Z30. VMINPS makes top of what is
// not a number: every index is that of a cell.
TEXT ·columnsAVX512(SB), NOSPLIT, $0-49
	ARGUMENTS
	VBROADCASTSS table_scale(DI), Z24
	VBROADCASTSS table_offset(DI), Z25
	VBROADCASTSS table_top(DI), Z26
	VBROADCASTSS tableConstants<>+0(SB), Z27
	VBROADCASTSS tableConstants<>+4(SB), Z28
	VBROADCASTSS tableConstants<>+8(SB), Z29
	VMOVUPS      (columns_drift+0)(SI), Z0
	VMOVUPS      (columns_drift+64)(SI), Z1
	VMOVUPS      (columns_drift+128)(SI), Z2
	VMOVUPS      (columns_drift+192)(SI), Z3
	VMOVUPS      (columns_driftSlope+0)(SI), Z13
	VMOVUPS      (columns_driftSlope+64)(SI), Z14
	VMOVUPS      (columns_driftSlope+128)(SI), Z15
	VMOVUPS      (columns_driftSlope+192)(SI), Z16
	VMOVUPS      (columns_noise+0)(SI), Z17
	VMOVUPS      (columns_noise+64)(SI), Z18
	VMOVUPS      (columns_noise+128)(SI), Z19
	VMOVUPS      (columns_noise+192)(SI), Z20
	VMOVUPS      (columns_noiseSlope+0)(SI), Z21
	VMOVUPS      (columns_noiseSlope+64)(SI), Z22
	VMOVUPS      (columns_noiseSlope+128)(SI), Z23
	VMOVUPS      (columns_noiseSlope+192)(SI), Z30
	SHLQ         $6, R13 // bytes

step:
	XORL         CX, CX

vector:
	VMOVUPS      (DX)(CX*1), Z4
	VMULPS       Z24, Z4, Z6
	VADDPS       Z25, Z6, Z6
	VMINPS       Z26, Z6, Z6
	VMAXPS       Z27, Z6, Z6     // u
	VADDPS       Z28, Z6, Z7     // m
	VSUBPS       Z28, Z7, Z5
	VSUBPS       Z5, Z6, Z6      // d
	VCMPPS       $13, Z29, Z7, K1 // m ≥ magic + 32
	LOOKUP(Z0, Z1, Z2, Z3, Z8)
	LOOKUP(Z13, Z14, Z15, Z16, Z9)
	LOOKUP(Z17, Z18, Z19, Z20, Z10)
	LOOKUP(Z21, Z22, Z23, Z30, Z11)
	VMULPS       Z6, Z9, Z9
	VADDPS       Z9, Z8, Z8
	VMULPS       Z6, Z11, Z11
	VADDPS       Z11, Z10, Z10
	VMULPS       (R11)(CX*1), Z10, Z10
	VADDPS       Z10, Z8, Z8
	VADDPS       Z8, Z4, Z4
	VMOVUPS      Z4, (DX)(CX*1)
	ADDQ         $64, CX
	CMPQ         CX, R13
	JLT          vector
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step

	VBROADCASTSS tableConstants<>+12(SB), Z5
	VBROADCASTSS tableConstants<>+16(SB), Z6
	KXNORW       K1, K1, K1
	XORL         CX, CX

bounded:
	VPANDD       (DX)(CX*1), Z6, Z4
	VCMPPS       $1, Z5, Z4, K1, K1 // less, and so before; not a number is not
	ADDQ         $64, CX
	CMPQ         CX, R13
	JLT          bounded
	KORTESTW     K1, K1
	SETCS        inside+48(FP)
	VZEROUPPER
	RET

// func rowsAVX2(t *table, cells *cell, x *[lanes]float32, z *float32, steps, vectors int) (inside bool)
//
// Any number of cells, one row each.
TEXT ·rowsAVX2(SB), NOSPLIT, $576-49
	ARGUMENTS
	SCRATCH
	VBROADCASTSS table_scale(DI), Y0
	VBROADCASTSS table_offset(DI), Y1
	VBROADCASTSS table_top(DI), Y2
	VBROADCASTSS tableConstants<>+0(SB), Y3
	VBROADCASTSS tableConstants<>+4(SB), Y5
	SHLQ         $5, R13 // bytes

step:
	XORL         CX, CX

locate:
	VMOVUPS      (DX)(CX*1), Y4
	VMULPS       Y0, Y4, Y6
	VADDPS       Y1, Y6, Y6
	VMINPS       Y2, Y6, Y6
	VMAXPS       Y3, Y6, Y6 // u
	VADDPS       Y5, Y6, Y7 // m
	VSUBPS       Y5, Y7, Y8
	VSUBPS       Y8, Y6, Y6 // d
	VPSUBD       Y5, Y7, Y7
	VPSLLD       $4, Y7, Y7 // a row has 16 bytes
	VMOVDQU      Y7, (R10)(CX*1)
	VMOVUPS      Y6, (4*const_lanes)(R10)(CX*1)
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          locate
	XORL         CX, CX
	MOVQ         R10, R8

move:
	COLUMNS
	VMOVUPS      (4*const_lanes)(R8), Y6
	VMOVUPS      (DX)(CX*1), Y4
	VMULPS       Y6, Y9, Y9
	VADDPS       Y9, Y8, Y8
	VMULPS       Y6, Y11, Y11
	VADDPS       Y11, Y10, Y10
	VMULPS       (R11)(CX*1), Y10, Y10
	VADDPS       Y10, Y8, Y8
	VADDPS       Y8, Y4, Y4
	VMOVUPS      Y4, (DX)(CX*1)
	ADDQ         $32, R8
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          move
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step

	VBROADCASTSS tableConstants<>+12(SB), Y5
	VBROADCASTSS tableConstants<>+16(SB), Y6
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
