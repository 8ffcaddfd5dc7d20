#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// (*planeTable).advance for a vector of lanes at a time: see plane.go for what
// it computes, in the same order and without fused operations. Operands are in
// Go's order, the destination last.

DATA planeConstants<>+0(SB)/4, $0xbf000000 // −½ in float32
DATA planeConstants<>+4(SB)/4, $const_magicBits
DATA planeConstants<>+8(SB)/4, $0x49742400 // bound in float32
DATA planeConstants<>+12(SB)/4, $0x7fffffff // all but the sign
GLOBL planeConstants<>(SB), RODATA|NOPTR, $16

// What AVX2 has too few registers for is in memory from R10 on: bytes from a
// lane's first cell to its own, its d and e, and numbers eight times each.
#define OFFSETS 0
#define DS 256
#define ES 512
#define SCALE_X 768
#define OFFSET_X 800
#define TOP_X 832
#define SCALE_Y 864
#define OFFSET_Y 896
#define TOP_Y 928
#define ROW 960
#define BYTES 992
#define ZERO 1024
#define NOISE 1056

// LOCATE writes offset, d and e of the states (Y4, Y5) to R8.
#define LOCATE \
	VMULPS  SCALE_X(R10), Y4, Y6  \
	VADDPS  OFFSET_X(R10), Y6, Y6 \
	VMINPS  TOP_X(R10), Y6, Y6    \
	VMAXPS  Y0, Y6, Y6            \
	VADDPS  Y1, Y6, Y8            \
	VSUBPS  Y1, Y8, Y9            \
	VSUBPS  Y9, Y6, Y6            \
	VMULPS  SCALE_Y(R10), Y5, Y7  \
	VADDPS  OFFSET_Y(R10), Y7, Y7 \
	VMINPS  TOP_Y(R10), Y7, Y7    \
	VMAXPS  Y0, Y7, Y7            \
	VADDPS  Y1, Y7, Y10           \
	VSUBPS  Y1, Y10, Y10          \
	VSUBPS  Y10, Y7, Y7           \
	VMULPS  ROW(R10), Y10, Y10    \ // exact, as the sum is: the cell's number
	VADDPS  Y10, Y8, Y8           \
	VPMULLD BYTES(R10), Y8, Y8    \
	VPSUBD  ZERO(R10), Y8, Y8     \
	VMOVDQU Y8, OFFSETS(R8)       \
	VMOVUPS Y6, DS(R8)            \
	VMOVUPS Y7, ES(R8)

// BILINEAR has out = the number at that many bytes of each lane's cell.
#define BILINEAR(at, out) \
	COLUMNS(at)           \
	VMULPS Y6, Y9, Y9     \
	VADDPS Y9, Y8, Y8     \
	VMULPS Y6, Y11, Y11   \
	VADDPS Y11, Y10, Y10  \
	VMULPS Y7, Y10, Y10   \
	VADDPS Y10, Y8, out

#define REPEAT(field, at) \
	VBROADCASTSS field(DI), Y2 \
	VMOVUPS      Y2, at(R10)

// func bilinearAVX2(t *planeTable, cells *bilinear, x *states[float32], z *float32, steps, vectors int) (inside bool)
//
// Once a vector has moved, its next cells are located at once and looked up a
// round later, as in rowsAVX2.
TEXT ·bilinearAVX2(SB), 0, $1248-49
	MOVQ t+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ z+24(FP), R11
	MOVQ steps+32(FP), R12
	MOVQ vectors+40(FP), R13
	SCRATCH
	REPEAT(planeTable_x+axis_scale, SCALE_X)
	REPEAT(planeTable_x+axis_offset, OFFSET_X)
	REPEAT(planeTable_x+axis_top, TOP_X)
	REPEAT(planeTable_y+axis_scale, SCALE_Y)
	REPEAT(planeTable_y+axis_offset, OFFSET_Y)
	REPEAT(planeTable_y+axis_top, TOP_Y)
	REPEAT(planeTable_row, ROW)
	REPEAT(planeTable_noise+0, NOISE+0)
	REPEAT(planeTable_noise+4, NOISE+32)
	REPEAT(planeTable_noise+8, NOISE+64)
	REPEAT(planeTable_noise+12, NOISE+96)
	VBROADCASTSS planeConstants<>+0(SB), Y0
	VBROADCASTSS planeConstants<>+4(SB), Y1
	MOVQ         planeTable_terms(DI), DI
	MOVQ         DI, AX
	SHLQ         $4, AX
	MOVQ         AX, X2
	VPBROADCASTD X2, Y2
	VMOVDQU      Y2, BYTES(R10)
	VPMULLD      Y1, Y2, Y2
	VMOVDQU      Y2, ZERO(R10)
	SHLQ         $5, R13 // bytes
	XORL         CX, CX
	MOVQ         R10, R8

locate:
	VMOVUPS (DX)(CX*1), Y4
	VMOVUPS (4*const_lanes)(DX)(CX*1), Y5
	LOCATE
	ADDQ    $32, R8
	ADDQ    $32, CX
	CMPQ    CX, R13
	JLT     locate

step:
	XORL CX, CX
	MOVQ R10, R8

vector:
	VMOVUPS DS(R8), Y6
	VMOVUPS ES(R8), Y7
	BILINEAR(0, Y4)
	BILINEAR(16, Y5)
	CMPL    DI, $4
	JEQ     diagonal
	JGT     full
	CMPL    DI, $3
	JEQ     scalar

	VMOVUPS (R11)(CX*1), Y8
	VMOVUPS (4*const_lanes)(R11)(CX*1), Y9
	VMULPS  (NOISE+0)(R10), Y8, Y10
	VMULPS  (NOISE+32)(R10), Y9, Y11
	VMULPS  (NOISE+64)(R10), Y8, Y8
	VMULPS  (NOISE+96)(R10), Y9, Y9
	VADDPS  Y11, Y10, Y2
	VADDPS  Y9, Y8, Y3
	JMP     move

scalar:
	BILINEAR(32, Y3)
	VMULPS (R11)(CX*1), Y3, Y2
	VMULPS (4*const_lanes)(R11)(CX*1), Y3, Y3
	JMP    move

diagonal:
	BILINEAR(32, Y2)
	BILINEAR(48, Y3)
	VMULPS (R11)(CX*1), Y2, Y2
	VMULPS (4*const_lanes)(R11)(CX*1), Y3, Y3
	JMP    move

full:
	BILINEAR(32, Y2)
	BILINEAR(48, Y3)
	VMULPS (R11)(CX*1), Y2, Y2
	VMULPS (4*const_lanes)(R11)(CX*1), Y3, Y3
	VADDPS Y3, Y2, Y2
	VADDPS Y2, Y4, Y4
	BILINEAR(64, Y2)
	BILINEAR(80, Y3)
	VMULPS (R11)(CX*1), Y2, Y2
	VMULPS (4*const_lanes)(R11)(CX*1), Y3, Y3
	VADDPS Y3, Y2, Y3
	VADDPS Y3, Y5, Y5
	JMP    moved

move:
	VADDPS Y2, Y4, Y4
	VADDPS Y3, Y5, Y5

moved:
	VADDPS  (DX)(CX*1), Y4, Y4
	VADDPS  (4*const_lanes)(DX)(CX*1), Y5, Y5
	VMOVUPS Y4, (DX)(CX*1)
	VMOVUPS Y5, (4*const_lanes)(DX)(CX*1)
	LOCATE
	ADDQ    $32, R8
	ADDQ    $32, CX
	CMPQ    CX, R13
	JLT     vector
	ADDQ    $(8*const_lanes), R11
	DECQ    R12
	JNZ     step

	VBROADCASTSS planeConstants<>+8(SB), Y5
	VBROADCASTSS planeConstants<>+12(SB), Y6
	VPCMPEQD     Y7, Y7, Y7
	XORL         CX, CX

bounded:
	VANDPS    (DX)(CX*1), Y6, Y4
	VANDPS    (4*const_lanes)(DX)(CX*1), Y6, Y3
	VCMPPS    $1, Y5, Y4, Y4 // less; not a number is not
	VCMPPS    $1, Y5, Y3, Y3
	VPAND     Y4, Y7, Y7
	VPAND     Y3, Y7, Y7
	ADDQ      $32, CX
	CMPQ      CX, R13
	JLT       bounded
	VMOVMSKPS Y7, AX
	CMPL      AX, $255
	SETEQ     inside+48(FP)
	VZEROUPPER
	RET
