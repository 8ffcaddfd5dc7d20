#include "textflag.h"

// expSumsPlain for a tile of targets: see tile.go for what it computes.
// Operands are in Go's order, the destination last.

// ARGUMENTS takes a kernel's; the stride and the rows of u become bytes.
#define ARGUMENTS \
	MOVQ sums+0(FP), DI    \
	MOVQ a+8(FP), SI       \
	MOVQ v+16(FP), DX      \
	MOVQ u+24(FP), R8      \
	MOVQ stride+32(FP), R9 \
	MOVQ n+40(FP), CX      \
	MOVQ d+48(FP), R10     \
	MOVQ constants+56(FP), AX \
	SHLQ $2, R9

// EXP512 adds 2^e to sum: the rest from the nearest integer by the polynomial
// in Z24–Z29, scaled by the integer.
#define EXP512(e, sum, p, n) \
	VRNDSCALEPS $0, e, n   \
	VSUBPS      n, e, e    \
	VMOVAPS     Z24, p     \
	VFMADD213PS Z25, e, p  \
	VFMADD213PS Z26, e, p  \
	VFMADD213PS Z27, e, p  \
	VFMADD213PS Z28, e, p  \
	VFMADD213PS Z29, e, p  \
	VSCALEFPS   n, p, p    \
	VADDPS      p, sum, sum

// ADD512 adds the lanes of a block's sum, wide or its lower half low, to those
// in memory, in float64.
#define ADD512(at, wide, low) \
	VEXTRACTF64X4 $1, wide, Y18   \
	VCVTPS2PD     low, Z17        \
	VCVTPS2PD     Y18, Z18        \
	VADDPD        at(DI), Z17, Z17    \
	VADDPD        (at+64)(DI), Z18, Z18 \
	VMOVUPD       Z17, at(DI)     \
	VMOVUPD       Z18, (at+64)(DI)

// func expSumsAVX512(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int, constants *[9][8]float32)
//
// Exponents of the eight targets are in Z0–Z7, their sums in Z8–Z15, over blocks
// of sixteen vectors.
TEXT ·expSumsAVX512(SB), NOSPLIT, $0-64
	ARGUMENTS
	VBROADCASTSS 64(AX), Z24
	VBROADCASTSS 96(AX), Z25
	VBROADCASTSS 128(AX), Z26
	VBROADCASTSS 160(AX), Z27
	VBROADCASTSS 192(AX), Z28
	VBROADCASTSS 224(AX), Z29

blocks:
	MOVQ    $256, BX
	CMPQ    CX, BX
	CMOVQLT CX, BX
	SUBQ    BX, CX
	VXORPS  Z8, Z8, Z8
	VMOVAPS Z8, Z9
	VMOVAPS Z8, Z10
	VMOVAPS Z8, Z11
	VMOVAPS Z8, Z12
	VMOVAPS Z8, Z13
	VMOVAPS Z8, Z14
	VMOVAPS Z8, Z15

sources:
	VMOVUPS (SI), Z0
	VMOVAPS Z0, Z1
	VMOVAPS Z0, Z2
	VMOVAPS Z0, Z3
	VMOVAPS Z0, Z4
	VMOVAPS Z0, Z5
	VMOVAPS Z0, Z6
	VMOVAPS Z0, Z7
	MOVQ    DX, R11
	MOVQ    R8, R12
	MOVQ    R10, R13

dimensions:
	VMOVUPS          (R11), Z16
	VFMADD231PS.BCST 0(R12), Z16, Z0
	VFMADD231PS.BCST 4(R12), Z16, Z1
	VFMADD231PS.BCST 8(R12), Z16, Z2
	VFMADD231PS.BCST 12(R12), Z16, Z3
	VFMADD231PS.BCST 16(R12), Z16, Z4
	VFMADD231PS.BCST 20(R12), Z16, Z5
	VFMADD231PS.BCST 24(R12), Z16, Z6
	VFMADD231PS.BCST 28(R12), Z16, Z7
	ADDQ             R9, R11
	ADDQ             $32, R12
	DECQ             R13
	JNZ              dimensions

	EXP512(Z0, Z8, Z17, Z18)
	EXP512(Z1, Z9, Z19, Z20)
	EXP512(Z2, Z10, Z21, Z22)
	EXP512(Z3, Z11, Z23, Z30)
	EXP512(Z4, Z12, Z17, Z18)
	EXP512(Z5, Z13, Z19, Z20)
	EXP512(Z6, Z14, Z21, Z22)
	EXP512(Z7, Z15, Z23, Z30)

	ADDQ $64, SI
	ADDQ $64, DX
	SUBQ $16, BX
	JNZ  sources

	ADD512(0, Z8, Y8)
	ADD512(128, Z9, Y9)
	ADD512(256, Z10, Y10)
	ADD512(384, Z11, Y11)
	ADD512(512, Z12, Y12)
	ADD512(640, Z13, Y13)
	ADD512(768, Z14, Y14)
	ADD512(896, Z15, Y15)
	TESTQ CX, CX
	JNZ   blocks
	VZEROUPPER
	RET

// PAIRS512 is EXP512 that adds 2^e to column too.
#define PAIRS512(e, sum, column, p, n) \
	EXP512(e, sum, p, n)   \
	VADDPS p, column, column

// func expPairsAVX512(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int, constants *[9][8]float32)
//
// As expSumsAVX512; sums of columns are in Z31 for the first four targets and in
// Z16 for the others.
TEXT ·expPairsAVX512(SB), NOSPLIT, $0-72
	MOVQ sums+0(FP), DI
	MOVQ columns+8(FP), R14
	MOVQ a+16(FP), SI
	MOVQ v+24(FP), DX
	MOVQ u+32(FP), R8
	MOVQ stride+40(FP), R9
	MOVQ n+48(FP), CX
	MOVQ d+56(FP), R10
	MOVQ constants+64(FP), AX
	SHLQ $2, R9
	VBROADCASTSS 64(AX), Z24
	VBROADCASTSS 96(AX), Z25
	VBROADCASTSS 128(AX), Z26
	VBROADCASTSS 160(AX), Z27
	VBROADCASTSS 192(AX), Z28
	VBROADCASTSS 224(AX), Z29

blocks:
	MOVQ    $256, BX
	CMPQ    CX, BX
	CMOVQLT CX, BX
	SUBQ    BX, CX
	VXORPS  Z8, Z8, Z8
	VMOVAPS Z8, Z9
	VMOVAPS Z8, Z10
	VMOVAPS Z8, Z11
	VMOVAPS Z8, Z12
	VMOVAPS Z8, Z13
	VMOVAPS Z8, Z14
	VMOVAPS Z8, Z15

sources:
	VMOVUPS     (SI), Z16
	VADDPS.BCST 0(R8), Z16, Z0
	VADDPS.BCST 4(R8), Z16, Z1
	VADDPS.BCST 8(R8), Z16, Z2
	VADDPS.BCST 12(R8), Z16, Z3
	VADDPS.BCST 16(R8), Z16, Z4
	VADDPS.BCST 20(R8), Z16, Z5
	VADDPS.BCST 24(R8), Z16, Z6
	VADDPS.BCST 28(R8), Z16, Z7
	MOVQ        DX, R11
	LEAQ        32(R8), R12
	MOVQ        R10, R13

dimensions:
	VMOVUPS          (R11), Z16
	VFMADD231PS.BCST 0(R12), Z16, Z0
	VFMADD231PS.BCST 4(R12), Z16, Z1
	VFMADD231PS.BCST 8(R12), Z16, Z2
	VFMADD231PS.BCST 12(R12), Z16, Z3
	VFMADD231PS.BCST 16(R12), Z16, Z4
	VFMADD231PS.BCST 20(R12), Z16, Z5
	VFMADD231PS.BCST 24(R12), Z16, Z6
	VFMADD231PS.BCST 28(R12), Z16, Z7
	ADDQ             R9, R11
	ADDQ             $32, R12
	DECQ             R13
	JNZ              dimensions

	VMOVUPS (R14), Z31
	VXORPS  Z16, Z16, Z16
	PAIRS512(Z0, Z8, Z31, Z17, Z18)
	PAIRS512(Z4, Z12, Z16, Z19, Z20)
	PAIRS512(Z1, Z9, Z31, Z21, Z22)
	PAIRS512(Z5, Z13, Z16, Z23, Z30)
	PAIRS512(Z2, Z10, Z31, Z17, Z18)
	PAIRS512(Z6, Z14, Z16, Z19, Z20)
	PAIRS512(Z3, Z11, Z31, Z21, Z22)
	PAIRS512(Z7, Z15, Z16, Z23, Z30)
	VADDPS  Z16, Z31, Z31
	VMOVUPS Z31, (R14)

	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R14
	SUBQ $16, BX
	JNZ  sources

	ADD512(0, Z8, Y8)
	ADD512(128, Z9, Y9)
	ADD512(256, Z10, Y10)
	ADD512(384, Z11, Y11)
	ADD512(512, Z12, Y12)
	ADD512(640, Z13, Y13)
	ADD512(768, Z14, Y14)
	ADD512(896, Z15, Y15)
	TESTQ CX, CX
	JNZ   blocks
	VZEROUPPER
	RET

// EXP256 adds 2^e to sum: the rest from the nearest integer by the polynomial,
// whose exponent the integer's low bits raise. What is not a number stays that.
#define EXP256(e, sum) \
	VMOVUPS     0(AX), Y9        \
	VMOVUPS     256(AX), Y10     \
	VMAXPS      e, Y9, e                         \
	VMINPS      e, Y10, e                        \
	VADDPS      32(AX), e, Y9    \
	VSUBPS      32(AX), Y9, Y10  \
	VSUBPS      Y10, e, e                         \
	VMOVUPS     64(AX), Y10      \
	VFMADD213PS 96(AX), e, Y10   \
	VFMADD213PS 128(AX), e, Y10  \
	VFMADD213PS 160(AX), e, Y10  \
	VFMADD213PS 192(AX), e, Y10  \
	VFMADD213PS 224(AX), e, Y10  \
	VPSLLD      $23, Y9, Y9                       \
	VPADDD      Y9, Y10, Y10                      \
	VADDPS      Y10, sum, sum

// ADD256 is ADD512 for eight lanes.
#define ADD256(at, wide, low) \
	VEXTRACTF128 $1, wide, X10  \
	VCVTPS2PD    low, Y9        \
	VCVTPS2PD    X10, Y10       \
	VADDPD       at(DI), Y9, Y9 \
	VADDPD       (at+32)(DI), Y10, Y10 \
	VMOVUPD      Y9, at(DI)     \
	VMOVUPD      Y10, (at+32)(DI)

// func expSumsAVX2(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int, constants *[9][8]float32)
//
// Four targets at a time: exponents in Y0–Y3, sums in Y4–Y7. It uses the
// first eight lanes.
TEXT ·expSumsAVX2(SB), NOSPLIT, $0-64
	ARGUMENTS
	MOVQ $2, BX

targets:
	MOVQ a+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ n+40(FP), CX

blocks:
	MOVQ    $128, R14
	CMPQ    CX, R14
	CMOVQLT CX, R14
	SUBQ    R14, CX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

sources:
	VMOVUPS (SI), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	MOVQ    DX, R11
	MOVQ    R8, R12
	MOVQ    R10, R13

dimensions:
	VMOVUPS      (R11), Y8
	VBROADCASTSS 0(R12), Y9
	VBROADCASTSS 4(R12), Y10
	VBROADCASTSS 8(R12), Y11
	VBROADCASTSS 12(R12), Y12
	VFMADD231PS  Y9, Y8, Y0
	VFMADD231PS  Y10, Y8, Y1
	VFMADD231PS  Y11, Y8, Y2
	VFMADD231PS  Y12, Y8, Y3
	ADDQ         R9, R11
	ADDQ         $32, R12
	DECQ         R13
	JNZ          dimensions

	EXP256(Y0, Y4)
	EXP256(Y1, Y5)
	EXP256(Y2, Y6)
	EXP256(Y3, Y7)

	ADDQ $32, SI
	ADDQ $32, DX
	SUBQ $8, R14
	JNZ  sources

	ADD256(0, Y4, X4)
	ADD256(128, Y5, X5)
	ADD256(256, Y6, X6)
	ADD256(384, Y7, X7)
	TESTQ CX, CX
	JNZ   blocks

	ADDQ $512, DI
	ADDQ $16, R8
	DECQ BX
	JNZ  targets
	VZEROUPPER
	RET
