#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*planeTable).advance for a vector at a time: see plane.go for what it
// computes, in the same order and without fused operations. Operands are in
// Go's order, the destination last.
//
// A vector has x of four lanes in its lower half and y of the same in its
// upper: a field's 32 bytes are one load, and four of them become the columns
// of both coordinates without leaving their halves.

DATA planeConstants<>+0(SB)/4, $0xbf000000 // −½ in float32
DATA planeConstants<>+4(SB)/4, $0x49742400 // bound in float32
DATA planeConstants<>+8(SB)/4, $0x7fffffff // all but the sign
GLOBL planeConstants<>(SB), RODATA|NOPTR, $12

// In memory from R10 on: the lanes' offsets of 32 bits in cells, and in vectors
// their (d, e) and states.
#define OFFSETS 0
#define PLACES 256
#define STATES 768

// LOCATE writes offsets and places of the states Y8. Products and sums of integers
// are exact: a cell has at least 32 bytes, and there are at most 2²⁰ cells.
#define LOCATE \
	VMULPS       Y0, Y8, Y9              \
	VADDPS       Y1, Y9, Y9              \
	VMINPS       Y2, Y9, Y9              \
	VMAXPS       Y3, Y9, Y9              \
	VROUNDPS     $0, Y9, Y10             \ // half to even, as adding magic does
	VSUBPS       Y10, Y9, Y9             \
	VMULPS       Y4, Y10, Y10            \
	VEXTRACTF128 $1, Y10, X11            \
	VADDPS       X11, X10, X10           \
	VCVTTPS2DQ   X10, X10                \
	VMOVDQU      X10, OFFSETS(R10)(CX*1) \
	VMOVUPS      Y9, PLACES(R10)(CX*2)

// BILINEAR has out = the field at that many bytes of the cells at AX, BX, R8
// and R9.
#define BILINEAR(at, out) \
	VMOVUPS        at(SI)(AX*1), Y8            \
	VMOVUPS        at(SI)(BX*1), Y9            \
	VMOVUPS        at(SI)(R8*1), Y10           \
	VMOVUPS        at(SI)(R9*1), Y11           \
	TRANSPOSE                                  \
	VBROADCASTF128 PLACES(R10)(CX*2), Y12      \ // d
	VBROADCASTF128 (PLACES+16)(R10)(CX*2), Y13 \ // e
	VMULPS         Y12, Y9, Y9                 \
	VADDPS         Y9, Y8, Y8                  \
	VMULPS         Y12, Y11, Y11               \
	VADDPS         Y11, Y10, Y10               \
	VMULPS         Y13, Y10, Y10               \
	VADDPS         Y10, Y8, out

// HALVES has a number of x in the lower half and one of y in the upper.
#define HALVES(x, y, X, Y) \
	VBROADCASTSS x, X        \
	VBROADCASTSS y, X15      \
	VINSERTF128  $1, X15, Y, Y

// func bilinearAVX2(t *planeTable, cells *bilinear, x *states[float32], z *float32, steps, vectors int) (inside bool)
//
// A step locates all vectors before it looks the first one up. In a single loop,
// instructions that wait for a vector's last state would fill the processor's
// queues: that took a quarter longer. The frame is too large for NOSPLIT.
TEXT ·bilinearAVX2(SB), 0, $1344-49
	MOVQ t+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ z+24(FP), R11
	MOVQ steps+32(FP), R12
	MOVQ vectors+40(FP), R13
	SCRATCH
	HALVES((planeTable_x+axis_scale)(DI), (planeTable_y+axis_scale)(DI), X0, Y0)
	HALVES((planeTable_x+axis_offset)(DI), (planeTable_y+axis_offset)(DI), X1, Y1)
	HALVES((planeTable_x+axis_top)(DI), (planeTable_y+axis_top)(DI), X2, Y2)
	VBROADCASTSS planeConstants<>+0(SB), Y3
	HALVES((planeTable_noise+0)(DI), (planeTable_noise+4)(DI), X5, Y5)
	HALVES((planeTable_noise+8)(DI), (planeTable_noise+12)(DI), X6, Y6)
	MOVQ         planeTable_row(DI), AX
	MOVQ         planeTable_fields(DI), DI
	MOVQ         DI, BX
	SHLQ         $5, BX // bytes of a cell
	IMULQ        BX, AX
	VCVTSI2SSQ   BX, X14, X14
	VCVTSI2SSQ   AX, X15, X15
	VBROADCASTSS X14, X4
	VBROADCASTSS X15, X15
	VINSERTF128  $1, X15, Y4, Y4
	SHLQ         $4, R13 // bytes of four lanes
	XORL         CX, CX

pack:
	VMOVUPS     (DX)(CX*1), X8
	VINSERTF128 $1, (4*const_lanes)(DX)(CX*1), Y8, Y8
	VMOVUPS     Y8, STATES(R10)(CX*2)
	ADDQ        $16, CX
	CMPQ        CX, R13
	JLT         pack

step:
	XORL CX, CX

locate:
	VMOVUPS STATES(R10)(CX*2), Y8
	LOCATE
	ADDQ    $16, CX
	CMPQ    CX, R13
	JLT     locate
	XORL    CX, CX

vector:
	MOVL (OFFSETS+0)(R10)(CX*1), AX
	MOVL (OFFSETS+4)(R10)(CX*1), BX
	MOVL (OFFSETS+8)(R10)(CX*1), R8
	MOVL (OFFSETS+12)(R10)(CX*1), R9
	BILINEAR(0, Y7)
	CMPL DI, $2
	JEQ  diagonal
	JGT  full

	// The diffusion is constant.
	VBROADCASTF128 (R11)(CX*1), Y8
	VBROADCASTF128 (4*const_lanes)(R11)(CX*1), Y9
	VMULPS         Y5, Y8, Y8
	VMULPS         Y6, Y9, Y9
	VADDPS         Y9, Y8, Y8
	JMP            move

diagonal:
	BILINEAR(32, Y8)
	VMOVUPS     (R11)(CX*1), X9
	VINSERTF128 $1, (4*const_lanes)(R11)(CX*1), Y9, Y9
	VMULPS      Y9, Y8, Y8
	JMP         move

full:
	BILINEAR(32, Y5)
	BILINEAR(64, Y8)
	VBROADCASTF128 (R11)(CX*1), Y9
	VBROADCASTF128 (4*const_lanes)(R11)(CX*1), Y10
	VMULPS         Y9, Y5, Y5
	VMULPS         Y10, Y8, Y8
	VADDPS         Y5, Y8, Y8

move:
	VADDPS  Y8, Y7, Y8
	VADDPS  STATES(R10)(CX*2), Y8, Y8
	VMOVUPS Y8, STATES(R10)(CX*2)
	ADDQ    $16, CX
	CMPQ    CX, R13
	JLT     vector
	ADDQ    $(8*const_lanes), R11
	DECQ    R12
	JNZ     step

	VBROADCASTSS planeConstants<>+4(SB), Y5
	VBROADCASTSS planeConstants<>+8(SB), Y6
	VPCMPEQD     Y7, Y7, Y7
	XORL         CX, CX

bounded:
	VMOVUPS      STATES(R10)(CX*2), Y8
	VMOVUPS      X8, (DX)(CX*1)
	VEXTRACTF128 $1, Y8, (4*const_lanes)(DX)(CX*1)
	VANDPS       Y8, Y6, Y8
	VCMPPS       $1, Y5, Y8, Y8 // less; false for NaN
	VPAND        Y8, Y7, Y7
	ADDQ         $16, CX
	CMPQ         CX, R13
	JLT          bounded
	VMOVMSKPS    Y7, AX
	CMPL         AX, $255
	SETEQ        inside+48(FP)
	VZEROUPPER
	RET
