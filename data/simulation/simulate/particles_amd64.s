#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"
#include "particles_amd64.h"

// (*pairTable).pairs and move for vectors of chains: see particles_table.go for
// what they compute, in the same order and without fused operations. Operands
// are in Go's order, the destination last. A coordinate of 16 chains has 64
// bytes, a particle 128.

// MOVE_ARGUMENTS are those of move.
#define MOVE_ARGUMENTS \
	MOVQ t+0(FP), SI    \
	MOVQ next+8(FP), BX \
	MOVQ f+16(FP), DI   \
	MOVQ x+24(FP), DX   \
	MOVQ z+32(FP), R11

// CUBIC_TOP and CUBIC_END have f·Δt in f and write over k. Permutations of two registers look up by the index
// modulo 32 and write over it.
#define CUBIC_TOP(t, k, f, c) \
	VMOVDQA64 k, f        \
	VPERMI2PS Z23, Z22, f \
	VMOVDQA64 k, c        \
	VPERMI2PS Z21, Z20, c \
	VMULPS    t, f, f     \
	VADDPS    f, c, f

#define CUBIC_END(t, k, f, c) \
	VMOVDQA64 k, c        \
	VPERMI2PS Z19, Z18, c \
	VMULPS    t, f, f     \
	VADDPS    f, c, f     \
	VPERMI2PS Z17, Z16, k \
	VMULPS    t, f, f     \
	VADDPS    f, k, f

// func pairsAVX512(t *pairTable, f, x *float32, first, end, from, to int)
//
// The table stays in Z16–Z23. A pair takes a dependent chain of some 50 cycles, more
// than the processor looks ahead. So the forces of two columns alternate with the
// offsets and cells of the next two. Up to two columns beyond the last are computed
// and not used.
TEXT ·pairsAVX512(SB), NOSPLIT, $0-56
	PAIR_ARGUMENTS
	LOAD_TABLE

row:
	ROW(next)
	VMOVUPS (DX)(R9*1), Z27
	VMOVUPS 64(DX)(R9*1), Z28
	VMOVUPS (DI)(R9*1), Z29
	VMOVUPS 64(DI)(R9*1), Z30

	OFFSET(0, Z0, Z1, Z2, Z3)
	OFFSET(1, Z4, Z5, Z6, Z7)
	CELL(Z2, Z3)
	CELL(Z6, Z7)
	LEAQ 512(CX), BX
	CMPQ BX, R11
	JGT  rest

four:
	OFFSET(2, Z8, Z9, Z10, Z11)
	CUBIC_TOP(Z2, Z3, Z24, Z25)
	OFFSET(3, Z12, Z13, Z14, Z15)
	CUBIC_TOP(Z6, Z7, Z26, Z31)
	CELL(Z10, Z11)
	CUBIC_END(Z2, Z3, Z24, Z25)
	CELL(Z14, Z15)
	CUBIC_END(Z6, Z7, Z26, Z31)
	REACT(0, Z0, Z1, Z24, Z25)
	REACT(1, Z4, Z5, Z26, Z31)

	OFFSET(4, Z0, Z1, Z2, Z3)
	CUBIC_TOP(Z10, Z11, Z24, Z25)
	OFFSET(5, Z4, Z5, Z6, Z7)
	CUBIC_TOP(Z14, Z15, Z26, Z31)
	CELL(Z2, Z3)
	CUBIC_END(Z10, Z11, Z24, Z25)
	CELL(Z6, Z7)
	CUBIC_END(Z14, Z15, Z26, Z31)
	REACT(2, Z8, Z9, Z24, Z25)
	REACT(3, Z12, Z13, Z26, Z31)
	ADDQ $512, CX
	LEAQ 512(CX), BX
	CMPQ BX, R11
	JLE  four
	CMPQ CX, R11
	JGE  done

rest:
	CUBIC_TOP(Z2, Z3, Z24, Z25)
	CUBIC_END(Z2, Z3, Z24, Z25)
	REACT(0, Z0, Z1, Z24, Z25)
	ADDQ $128, CX
	CMPQ CX, R11
	JGE  done
	CUBIC_TOP(Z6, Z7, Z26, Z31)
	CUBIC_END(Z6, Z7, Z26, Z31)
	REACT(0, Z4, Z5, Z26, Z31)
	ADDQ $128, CX
	CMPQ CX, R11
	JGE  done
	OFFSET(0, Z0, Z1, Z2, Z3)
	CELL(Z2, Z3)
	CUBIC_TOP(Z2, Z3, Z24, Z25)
	CUBIC_END(Z2, Z3, Z24, Z25)
	REACT(0, Z0, Z1, Z24, Z25)

done:
	VMOVUPS Z29, (DI)(R9*1)
	VMOVUPS Z30, 64(DI)(R9*1)

next:
	ADDQ $128, R9
	CMPQ R9, R12
	JLT  row
	VZEROUPPER
	RET

// func moveAVX512(t *pairTable, next, f, x, z *float32, count int) (inside bool)
TEXT ·moveAVX512(SB), NOSPLIT, $0-49
	MOVE_ARGUMENTS
	MOVQ         count+40(FP), R12
	VBROADCASTSS pairTable_trap(SI), Z0
	VMOVUPS      pairTable_noise(SI), Z1
	VBROADCASTSS pairTable_limit(SI), Z2
	VBROADCASTSS pairConstants<>+8(SB), Z3
	VXORPS       X4, X4, X4
	KXNORW       K1, K1, K1

coordinate:
	VMOVUPS (DX), Z5
	VMULPS  Z0, Z5, Z6
	VMOVUPS (DI), Z7
	VSUBPS  Z6, Z7, Z7
	VMULPS  (R11), Z1, Z6
	VADDPS  Z6, Z7, Z7
	VADDPS  Z7, Z5, Z5
	VMOVUPS Z5, (BX)
	VMOVUPS Z4, (DI)
	VPANDD  Z5, Z3, Z5
	VCMPPS  $1, Z2, Z5, K1, K1 // less, and so before; false for NaN
	ADDQ    $64, DX
	ADDQ    $64, DI
	ADDQ    $64, BX
	ADDQ    $(4*const_lanes), R11
	DECQ    R12
	JNZ     coordinate

	KORTESTW K1, K1
	SETCS    inside+48(FP)
	VZEROUPPER
	RET

// func pairsAVX2(t *pairTable, f, x *float32, first, end, from, to int)
//
// One row of the table is one load, which waits for its offset from memory. So up to
// eight columns are located before the first of them is looked up.
TEXT ·pairsAVX2(SB), NOSPLIT, $584-56
	PAIR_ARGUMENTS
	SCRATCH
	VBROADCASTSS pairTable_offset(SI), Y4
	VPBROADCASTD pairConstants<>+0(SB), Y5
	VPBROADCASTD pairConstants<>+4(SB), Y6
	LEAQ         pairTable_rows(SI), SI

row:
	ROW(next)
	VMOVUPS (DX)(R9*1), Y0
	VMOVUPS 64(DX)(R9*1), Y1
	VMOVUPS (DI)(R9*1), Y2
	VMOVUPS 64(DI)(R9*1), Y3

columns:
	MOVQ    CX, AX // the first of these columns
	LEAQ    1024(CX), BX
	CMPQ    BX, R11
	CMOVQGT R11, BX
	MOVQ    BX, end-8(SP) // the end of these columns
	MOVQ    R10, R8

locate:
	LOCATE(Y6)
	CMPQ CX, BX
	JLT  locate

	MOVQ AX, CX
	MOVQ R10, R8

pair:
	COLUMNS
	VMOVUPS 32(R8), Y7
	VMULPS  Y7, Y11, Y11
	VADDPS  Y11, Y10, Y10
	VMULPS  Y7, Y10, Y10
	VADDPS  Y10, Y9, Y9
	VMULPS  Y7, Y9, Y9
	VADDPS  Y9, Y8, Y8 // f·Δt
	PUSH(Y8, Y12, Y13)
	ADDQ    $64, R8
	ADDQ    $128, CX
	CMPQ    CX, end-8(SP)
	JLT     pair

	CMPQ    CX, R11
	JLT     columns
	VMOVUPS Y2, (DI)(R9*1)
	VMOVUPS Y3, 64(DI)(R9*1)

next:
	ADDQ $128, R9
	CMPQ R9, R12
	JLT  row
	VZEROUPPER
	RET

// func moveAVX2(t *pairTable, next, f, x, z, noise *float32, count int) (inside bool)
TEXT ·moveAVX2(SB), NOSPLIT, $0-57
	MOVE_ARGUMENTS
	MOVQ         noise+40(FP), AX
	MOVQ         count+48(FP), R12
	VBROADCASTSS pairTable_trap(SI), Y0
	VMOVUPS      (AX), Y1
	VBROADCASTSS pairTable_limit(SI), Y2
	VBROADCASTSS pairConstants<>+8(SB), Y3
	VXORPS       X4, X4, X4
	VPCMPEQD     Y8, Y8, Y8

coordinate:
	VMOVUPS (DX), Y5
	VMULPS  Y0, Y5, Y6
	VMOVUPS (DI), Y7
	VSUBPS  Y6, Y7, Y7
	VMULPS  (R11), Y1, Y6
	VADDPS  Y6, Y7, Y7
	VADDPS  Y7, Y5, Y5
	VMOVUPS Y5, (BX)
	VMOVUPS Y4, (DI)
	VANDPS  Y5, Y3, Y5
	VCMPPS  $1, Y2, Y5, Y5 // less; false for NaN
	VPAND   Y5, Y8, Y8
	ADDQ    $64, DX
	ADDQ    $64, DI
	ADDQ    $64, BX
	ADDQ    $(4*const_lanes), R11
	DECQ    R12
	JNZ     coordinate

	VMOVMSKPS Y8, AX
	CMPL      AX, $255
	SETEQ     inside+56(FP)
	VZEROUPPER
	RET
