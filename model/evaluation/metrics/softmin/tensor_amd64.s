//go:build goexperiment.simd

#include "textflag.h"

// ROW multiplies three vectors of right, Z12–Z14, by one of left.
#define ROW(x, s0, s1, s2) \
	VFMADD231PD Z12, x, s0 \
	VFMADD231PD Z13, x, s1 \
	VFMADD231PD Z14, x, s2

// func outerAVX512(sums *[lanes]float64, columns int, left, right *panel)
//
// The nine sums are in Z0–Z8.
TEXT ·outerAVX512(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ columns+8(FP), R9
	MOVQ left+16(FP), SI
	MOVQ right+24(FP), DX
	SHLQ $6, R9
	LEAQ (DI)(R9*1), R10
	LEAQ (DI)(R9*2), R11
	VMOVUPD 0(DI), Z0
	VMOVUPD 64(DI), Z1
	VMOVUPD 128(DI), Z2
	VMOVUPD 0(R10), Z3
	VMOVUPD 64(R10), Z4
	VMOVUPD 128(R10), Z5
	VMOVUPD 0(R11), Z6
	VMOVUPD 64(R11), Z7
	VMOVUPD 128(R11), Z8
	MOVQ $8, CX

sources:
	VMOVUPD 0(SI), Z9
	VMOVUPD 64(SI), Z10
	VMOVUPD 128(SI), Z11
	VMOVUPD 0(DX), Z12
	VMOVUPD 64(DX), Z13
	VMOVUPD 128(DX), Z14
	ROW(Z9, Z0, Z1, Z2)
	ROW(Z10, Z3, Z4, Z5)
	ROW(Z11, Z6, Z7, Z8)
	ADDQ $192, SI
	ADDQ $192, DX
	DECQ CX
	JNZ  sources

	VMOVUPD Z0, 0(DI)
	VMOVUPD Z1, 64(DI)
	VMOVUPD Z2, 128(DI)
	VMOVUPD Z3, 0(R10)
	VMOVUPD Z4, 64(R10)
	VMOVUPD Z5, 128(R10)
	VMOVUPD Z6, 0(R11)
	VMOVUPD Z7, 64(R11)
	VMOVUPD Z8, 128(R11)
	VZEROUPPER
	RET
