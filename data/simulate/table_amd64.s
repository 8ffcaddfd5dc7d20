#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*table).advance for a vector of lanes at a time: see table.go for what it
// computes. Operands are in Go's order, the destination last.

DATA tableConstants<>+0(SB)/4, $0xbf000000 // −½ in float32
DATA tableConstants<>+4(SB)/4, $const_magicBits
DATA tableConstants<>+8(SB)/4, $(const_magicBits+32)
DATA tableConstants<>+12(SB)/4, $0x49742400 // bound
DATA tableConstants<>+16(SB)/4, $0x7fffffff // all but the sign
GLOBL tableConstants<>(SB), RODATA|NOPTR, $20

// Arguments of all kernels: the table, its cells in the kernel's form, states,
// normals of the first step, steps (at least 1), vectors of lanes.
#define ARGUMENTS \
	MOVQ t+0(FP), DI       \
	MOVQ cells+8(FP), SI   \
	MOVQ x+16(FP), DX      \
	MOVQ z+24(FP), R11     \
	MOVQ steps+32(FP), R12 \
	MOVQ vectors+40(FP), R13

#define CONSTANTS_Z \
	VBROADCASTSS table_scale(DI), Z24         \
	VBROADCASTSS table_offset(DI), Z25        \
	VBROADCASTSS table_top(DI), Z26           \
	VBROADCASTSS tableConstants<>+0(SB), Z27  \
	VBROADCASTSS tableConstants<>+4(SB), Z28

// LOCATE_Z: state Z4 to magic + cell in Z7 and d in Z6. For a state that is not
// a number VMINPS gives its first operand, top.
#define LOCATE_Z \
	VMOVUPS (DX)(CX*1), Z4 \
	VMULPS  Z24, Z4, Z6    \
	VADDPS  Z25, Z6, Z6    \
	VMINPS  Z26, Z6, Z6    \
	VMAXPS  Z27, Z6, Z6    \
	VADDPS  Z28, Z6, Z7    \
	VSUBPS  Z28, Z7, Z5    \
	VSUBPS  Z5, Z6, Z6

// MOVE_Z adds the step to state Z4, from the cell's four numbers in Z8–Z11.
#define MOVE_Z \
	VMULPS  Z6, Z9, Z9           \
	VADDPS  Z9, Z8, Z8           \
	VMULPS  Z6, Z11, Z11         \
	VADDPS  Z11, Z10, Z10        \
	VMULPS  (R11)(CX*1), Z10, Z10 \
	VADDPS  Z10, Z8, Z8          \
	VADDPS  Z8, Z4, Z4           \
	VMOVUPS Z4, (DX)(CX*1)

// BOUNDED_Z returns whether all states are within the bound.
#define BOUNDED_Z \
	VBROADCASTSS tableConstants<>+12(SB), Z5 \
	VPBROADCASTD tableConstants<>+16(SB), Z6 \
	KXNORW       K1, K1, K1                  \
bounded: \
	VPANDD       (DX), Z6, Z4                \
	VCMPPS       $1, Z5, Z4, K1, K1          \
	ADDQ         $64, DX                     \
	DECQ         R13                         \
	JNZ          bounded                     \
	KORTESTW     K1, K1                      \
	SETCS        inside+48(FP)               \
	VZEROUPPER                               \
	RET

// LOOKUP_Z looks indices Z7 modulo 64 up in four registers; K1 marks those
// from 32 on.
#define LOOKUP_Z(a, b, c, d, out) \
	VMOVDQA64 Z7, out              \
	VMOVDQA64 Z7, Z12              \
	VPERMI2PS b, a, out            \
	VPERMI2PS d, c, Z12            \
	VMOVAPS   Z12, K1, out

// func columnsAVX512(t *table, cells *columns, x *[lanes]float32, z *float32, steps, vectors int) (inside bool)
//
// Up to 64 cells, in 16 registers.
TEXT ·columnsAVX512(SB), NOSPLIT, $0-49
	ARGUMENTS
	CONSTANTS_Z
	VBROADCASTSS tableConstants<>+8(SB), Z29
	VMOVUPS      0(SI), Z0
	VMOVUPS      64(SI), Z1
	VMOVUPS      128(SI), Z2
	VMOVUPS      192(SI), Z3
	VMOVUPS      256(SI), Z13
	VMOVUPS      320(SI), Z14
	VMOVUPS      384(SI), Z15
	VMOVUPS      448(SI), Z16
	VMOVUPS      512(SI), Z17
	VMOVUPS      576(SI), Z18
	VMOVUPS      640(SI), Z19
	VMOVUPS      704(SI), Z20
	VMOVUPS      768(SI), Z21
	VMOVUPS      832(SI), Z22
	VMOVUPS      896(SI), Z23
	VMOVUPS      960(SI), Z30
	SHLQ         $6, R13

step:
	XORL         CX, CX

vector:
	LOCATE_Z
	VCMPPS       $13, Z29, Z7, K1 // at least magic + 32
	LOOKUP_Z(Z0, Z1, Z2, Z3, Z8)
	LOOKUP_Z(Z13, Z14, Z15, Z16, Z9)
	LOOKUP_Z(Z17, Z18, Z19, Z20, Z10)
	LOOKUP_Z(Z21, Z22, Z23, Z30, Z11)
	MOVE_Z
	ADDQ         $64, CX
	CMPQ         CX, R13
	JLT          vector
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step
	SHRQ         $6, R13
	BOUNDED_Z

// func rowsAVX512(t *table, cells *cell, x *[lanes]float32, z *float32, steps, vectors int) (inside bool)
//
// Any number of cells, one row each.
TEXT ·rowsAVX512(SB), NOSPLIT, $576-49
	ARGUMENTS
	CONSTANTS_Z
	VPBROADCASTD tableConstants<>+4(SB), Z29
	SCRATCH
	SHLQ         $6, R13

step:
	XORL         CX, CX

locate:
	LOCATE_Z
	VPSUBD       Z29, Z7, Z7
	VPSLLD       $4, Z7, Z7
	VMOVDQU32    Z7, (R10)(CX*1)
	VMOVUPS      Z6, (4*const_lanes)(R10)(CX*1)
	ADDQ         $64, CX
	CMPQ         CX, R13
	JLT          locate
	XORL         CX, CX
	MOVQ         R10, R8

move:
	COLUMNS_Z
	VMOVUPS      (4*const_lanes)(R8), Z6
	VMOVUPS      (DX)(CX*1), Z4
	MOVE_Z
	ADDQ         $64, R8
	ADDQ         $64, CX
	CMPQ         CX, R13
	JLT          move
	ADDQ         $(4*const_lanes), R11
	DECQ         R12
	JNZ          step
	SHRQ         $6, R13
	BOUNDED_Z

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
	SHLQ         $5, R13

step:
	XORL         CX, CX

locate:
	VMOVUPS      (DX)(CX*1), Y4
	VMULPS       Y0, Y4, Y6
	VADDPS       Y1, Y6, Y6
	VMINPS       Y2, Y6, Y6
	VMAXPS       Y3, Y6, Y6
	VADDPS       Y5, Y6, Y7
	VSUBPS       Y5, Y7, Y8
	VSUBPS       Y8, Y6, Y6
	VPSUBD       Y5, Y7, Y7
	VPSLLD       $4, Y7, Y7
	VMOVDQU      Y7, (R10)(CX*1)
	VMOVUPS      Y6, (4*const_lanes)(R10)(CX*1)
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          locate
	XORL         CX, CX
	MOVQ         R10, R8

move:
	COLUMNS_Y
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
	VCMPPS       $1, Y5, Y4, Y4
	VPAND        Y4, Y7, Y7
	ADDQ         $32, CX
	CMPQ         CX, R13
	JLT          bounded
	VMOVMSKPS    Y7, AX
	CMPL         AX, $255
	SETEQ        inside+48(FP)
	VZEROUPPER
	RET
