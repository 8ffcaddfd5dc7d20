#include "go_asm.h"
#include "textflag.h"

// (*functionStep).movePlain for a vector of lanes at a time, in the same order
// and without fused operations. Operands are in Go's order, the destination
// last.

// ARGUMENTS takes a step's: states, drifts, diffusions, √dt, dt, normals and
// the number of vectors, at least 1.
#define ARGUMENTS \
	MOVQ f+0(FP), AX                      \
	MOVQ functionStep_x(AX), DI           \
	MOVQ functionStep_drift(AX), SI       \
	MOVQ functionStep_diffusion(AX), DX   \
	MOVQ z+8(FP), R8                      \
	MOVQ vectors+16(FP), CX

// func moveVectorsAVX512(f *functionStep, z *[64]float32, vectors int)
TEXT ·moveVectorsAVX512(SB), NOSPLIT, $0-24
	ARGUMENTS
	VBROADCASTSD functionStep_dt(AX), Z0
	VBROADCASTSD functionStep_root(AX), Z1

vector:
	VMULPD    (SI), Z0, Z2 // b·dt
	VMULPD    (DX), Z1, Z3 // σ·√dt
	VCVTPS2PD (R8), Z4
	VMULPD    Z4, Z3, Z3
	VADDPD    Z3, Z2, Z2
	VADDPD    (DI), Z2, Z2
	VMOVUPD   Z2, (DI)
	ADDQ      $64, SI
	ADDQ      $64, DX
	ADDQ      $64, DI
	ADDQ      $32, R8
	DECQ      CX
	JNZ       vector
	VZEROUPPER
	RET

// func moveVectorsAVX2(f *functionStep, z *[64]float32, vectors int)
TEXT ·moveVectorsAVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	VBROADCASTSD functionStep_dt(AX), Y0
	VBROADCASTSD functionStep_root(AX), Y1

vector:
	VMULPD    (SI), Y0, Y2
	VMULPD    (DX), Y1, Y3
	VCVTPS2PD (R8), Y4
	VMULPD    Y4, Y3, Y3
	VADDPD    Y3, Y2, Y2
	VADDPD    (DI), Y2, Y2
	VMOVUPD   Y2, (DI)
	ADDQ      $32, SI
	ADDQ      $32, DX
	ADDQ      $32, DI
	ADDQ      $16, R8
	DECQ      CX
	JNZ       vector
	VZEROUPPER
	RET
