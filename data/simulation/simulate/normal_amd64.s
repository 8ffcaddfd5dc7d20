#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*normals).fillLanes for a vector of lanes at a time, as if there were no
// tails: see normal.go for what it computes. Operands are in Go's order, the
// destination last.

DATA normalConstants<>+0(SB)/4, $0x7fffffff // v's bits of r
DATA normalConstants<>+4(SB)/4, $const_cubicFirst
DATA normalConstants<>+8(SB)/4, $0x80000000 // the sign
DATA normalConstants<>+12(SB)/4, $(16*const_segmentMask)
GLOBL normalConstants<>(SB), RODATA|NOPTR, $16

// func cubicsAVX512(n *normals, first int, c *inverseTable) (tails uint32)
//
// Sixteen lanes; a permutation of two registers looks a coefficient up by the
// index modulo 32. Three-operand logic: $0x96 is a⊕b⊕c and $0x78 a⊕(b∧c).
TEXT ·cubicsAVX512(SB), NOSPLIT, $0-28
	MOVQ n+0(FP), DI
	MOVQ first+8(FP), AX
	MOVQ c+16(FP), SI
	LEAQ (DI)(AX*4), DI

	VMOVDQU32 normals_s0(DI), Z0
	VMOVDQU32 normals_s1(DI), Z1
	VMOVDQU32 normals_s2(DI), Z2
	VMOVDQU32 normals_s3(DI), Z3
	VMOVUPS   (inverseTable_columns+0)(SI), Z16
	VMOVUPS   (inverseTable_columns+64)(SI), Z17
	VMOVUPS   (inverseTable_columns+128)(SI), Z18
	VMOVUPS   (inverseTable_columns+192)(SI), Z19
	VMOVUPS   (inverseTable_columns+256)(SI), Z20
	VMOVUPS   (inverseTable_columns+320)(SI), Z21
	VMOVUPS   (inverseTable_columns+384)(SI), Z22
	VMOVUPS   (inverseTable_columns+448)(SI), Z23
	VPBROADCASTD normalConstants<>+0(SB), Z24
	VPBROADCASTD normalConstants<>+8(SB), Z25
	VMOVDQA64    Z24, Z15 // the least v

	LEAQ normals_values(DI), DX
	MOVQ $const_window, CX

normal:
	VPADDD           Z3, Z0, Z4        // r = s0 + s3
	VPXORD           Z1, Z3, Z3        // s3 ^= s1
	VPSLLD           $9, Z1, Z5        // t = s1 << 9
	VPTERNLOGD       $0x96, Z0, Z2, Z1 // s1 ^= s2 ^ s0
	VPANDD           Z24, Z4, Z6       // v
	VPTERNLOGD       $0x96, Z5, Z0, Z2 // s2 ^= s0 ^ t
	VPXORD           Z3, Z0, Z0        // s0 ^= s3
	VPROLD           $11, Z3, Z3
	VPMINUD          Z6, Z15, Z15
	VCVTDQ2PS.RZ_SAE Z6, Z6            // f
	VPSRLD           $22, Z6, Z7       // the half-octave
	VMOVDQA64        Z7, Z10
	VMOVDQA64        Z7, Z9
	VMOVDQA64        Z7, Z8
	VPERMI2PS        Z23, Z22, Z7
	VPERMI2PS        Z21, Z20, Z8
	VPERMI2PS        Z19, Z18, Z9
	VMULPS           Z6, Z7, Z7
	VADDPS           Z7, Z8, Z7
	VMULPS           Z6, Z7, Z7
	VADDPS           Z7, Z9, Z7
	VMULPS           Z6, Z7, Z7
	VPERMI2PS        Z17, Z16, Z10
	VADDPS           Z7, Z10, Z7
	VPTERNLOGD       $0x78, Z25, Z4, Z7
	VMOVUPS          Z7, (DX)
	ADDQ        $(4*const_lanes), DX
	DECQ        CX
	JNZ         normal

	VPBROADCASTD normalConstants<>+4(SB), Z5
	VPCMPUD      $1, Z5, Z15, K1 // less: a tail
	KMOVW        K1, AX
	MOVL         AX, tails+24(FP)
	KNOTW        K1, K1
	VMOVDQU32    Z0, K1, normals_s0(DI)
	VMOVDQU32    Z1, K1, normals_s1(DI)
	VMOVDQU32    Z2, K1, normals_s2(DI)
	VMOVDQU32    Z3, K1, normals_s3(DI)
	VZEROUPPER
	RET

// func cubicsAVX2(n *normals, first int, c *inverseTable) (tails uint32)
//
// Eight lanes; a row of four coefficients is one load. The first loop leaves f,
// with the normals' signs, where the second puts the normals.
TEXT ·cubicsAVX2(SB), NOSPLIT, $576-28
	MOVQ n+0(FP), DI
	MOVQ first+8(FP), AX
	MOVQ c+16(FP), SI
	LEAQ (DI)(AX*4), DI
	LEAQ inverseTable_rows(SI), SI
	SCRATCH

	VMOVDQU      normals_s0(DI), Y0
	VMOVDQU      normals_s1(DI), Y1
	VMOVDQU      normals_s2(DI), Y2
	VMOVDQU      normals_s3(DI), Y3
	VPBROADCASTD normalConstants<>+0(SB), Y9
	VMOVDQA      Y9, Y5 // the least v
	VPBROADCASTD normalConstants<>+12(SB), Y11
	LEAQ         normals_values(DI), DX
	MOVQ         R10, R8
	MOVQ         $const_window, CX

random:
	VPADDD       Y3, Y0, Y4 // r = s0 + s3
	VPSLLD       $9, Y1, Y8
	VPXOR        Y0, Y2, Y2
	VPXOR        Y1, Y3, Y3
	VPXOR        Y2, Y1, Y1
	VPXOR        Y3, Y0, Y0
	VPXOR        Y8, Y2, Y2
	VPSLLD       $11, Y3, Y8
	VPSRLD       $21, Y3, Y3
	VPOR         Y8, Y3, Y3
	VPAND        Y9, Y4, Y6 // v
	VPXOR        Y6, Y4, Y4 // the sign
	VPMINUD      Y6, Y5, Y5
	VPSRLD       $24, Y6, Y8
	VPANDN       Y6, Y8, Y6
	VCVTDQ2PS    Y6, Y6 // f
	VPOR         Y4, Y6, Y4
	VMOVDQU      Y4, (DX)
	VPSRLD       $(22-4), Y6, Y7
	VPAND        Y11, Y7, Y7 // the half-octave, times a row's 16 bytes
	VMOVDQU      Y7, (R8)
	ADDQ         $(4*const_lanes), DX
	ADDQ         $32, R8
	DECQ         CX
	JNZ          random

	VPBROADCASTD normalConstants<>+4(SB), Y8
	VPMAXUD      Y8, Y5, Y8
	VPCMPEQD     Y8, Y5, Y8 // not less: no tail
	VMOVDQU      normals_s0(DI), Y6
	VPBLENDVB    Y8, Y0, Y6, Y0
	VMOVDQU      Y0, normals_s0(DI)
	VMOVDQU      normals_s1(DI), Y6
	VPBLENDVB    Y8, Y1, Y6, Y1
	VMOVDQU      Y1, normals_s1(DI)
	VMOVDQU      normals_s2(DI), Y6
	VPBLENDVB    Y8, Y2, Y6, Y2
	VMOVDQU      Y2, normals_s2(DI)
	VMOVDQU      normals_s3(DI), Y6
	VPBLENDVB    Y8, Y3, Y6, Y3
	VMOVDQU      Y3, normals_s3(DI)
	VMOVMSKPS    Y8, AX
	XORL         $255, AX
	MOVL         AX, tails+24(FP)

	VMOVDQA      Y9, Y0
	LEAQ         normals_values(DI), DX
	MOVQ         R10, R8
	MOVQ         $const_window, CX

normal:
	VMOVDQU      (DX), Y4
	VPAND        Y0, Y4, Y6 // f
	VPXOR        Y6, Y4, Y4 // the sign
	COLUMNS
	VMULPS       Y6, Y11, Y7
	VADDPS       Y7, Y10, Y7
	VMULPS       Y6, Y7, Y7
	VADDPS       Y7, Y9, Y7
	VMULPS       Y6, Y7, Y7
	VADDPS       Y7, Y8, Y7
	VPXOR        Y4, Y7, Y7
	VMOVUPS      Y7, (DX)
	ADDQ         $(4*const_lanes), DX
	ADDQ         $32, R8
	DECQ         CX
	JNZ          normal
	VZEROUPPER
	RET
