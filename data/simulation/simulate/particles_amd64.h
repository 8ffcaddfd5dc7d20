// What the kernels of particles share.

DATA pairConstants<>+0(SB)/4, $const_oneBits
DATA pairConstants<>+4(SB)/4, $const_outside
DATA pairConstants<>+8(SB)/4, $0x7fffffff // all but the sign
DATA pairConstants<>+12(SB)/4, $0x3f000000 // 1/2
DATA pairConstants<>+16(SB)/4, $0x3eaaaaab // 1/3
DATA pairConstants<>+20(SB)/4, $0x3e800000 // 1/4
GLOBL pairConstants<>(SB), RODATA|NOPTR, $24

// ARGUMENTS of pairs, their particles as offsets in bytes.
#define PAIR_ARGUMENTS \
	MOVQ t+0(FP), SI      \
	MOVQ f+8(FP), DI      \
	MOVQ x+16(FP), DX     \
	MOVQ first+24(FP), R9 \
	MOVQ end+32(FP), R12  \
	MOVQ from+40(FP), R13 \
	MOVQ to+48(FP), R11   \
	SHLQ $7, R9           \
	SHLQ $7, R12          \
	SHLQ $7, R13          \
	SHLQ $7, R11

// ROW has the first column of row R9 in CX and goes to done if there is none.
#define ROW(done) \
	LEAQ    128(R9), CX \
	CMPQ    CX, R13     \
	CMOVQLT R13, CX     \
	CMPQ    CX, R11     \
	JGE     done

// LOAD_TABLE has that of the force in Z16–Z23.
#define LOAD_TABLE \
	VMOVUPS (pairTable_columns+0)(SI), Z16 \
	VMOVUPS (pairTable_columns+64)(SI), Z17 \
	VMOVUPS (pairTable_columns+128)(SI), Z18 \
	VMOVUPS (pairTable_columns+192)(SI), Z19 \
	VMOVUPS (pairTable_columns+256)(SI), Z20 \
	VMOVUPS (pairTable_columns+320)(SI), Z21 \
	VMOVUPS (pairTable_columns+384)(SI), Z22 \
	VMOVUPS (pairTable_columns+448)(SI), Z23

// The stages of a pair with AVX-512. OFFSET has dx = Xᵢ−Xⱼ and dy of column n after CX, CELL has t and its cell
// k, REACT adds the force of f·Δt to the row's and takes it from the column's.
#define OFFSET(n, dx, dy, t, k) \
	VSUBPS (128*n)(DX)(CX*1), Z27, dx    \
	VSUBPS (128*n+64)(DX)(CX*1), Z28, dy \
	VMULPS dx, dx, t                     \
	VMULPS dy, dy, k

#define CELL(t, k) \
	VADDPS       k, t, t                        \
	VADDPS.BCST  pairTable_offset(SI), t, t     \
	VPSUBD.BCST  pairConstants<>+0(SB), t, k    \
	VPMINUD.BCST pairConstants<>+4(SB), k, k    \
	VPSRLD       $const_cellShift, k, k

#define REACT(n, dx, dy, f, c) \
	VMULPS  f, dx, dx                    \
	VMULPS  f, dy, dy                    \
	VMOVUPS (128*n)(DI)(CX*1), f         \
	VMOVUPS (128*n+64)(DI)(CX*1), c      \
	VADDPS  dx, Z29, Z29                 \
	VADDPS  dy, Z30, Z30                 \
	VSUBPS  dx, f, f                     \
	VSUBPS  dy, c, c                     \
	VMOVUPS f, (128*n)(DI)(CX*1)         \
	VMOVUPS c, (128*n+64)(DI)(CX*1)

// The stages of a pair with AVX2. LOCATE writes the offset of its row in the table, and t, to R8, PUSH is REACT.
#define LOCATE(outside) \
	VSUBPS  (DX)(CX*1), Y0, Y8       \
	VSUBPS  64(DX)(CX*1), Y1, Y9     \
	VMULPS  Y8, Y8, Y8               \
	VMULPS  Y9, Y9, Y9               \
	VADDPS  Y9, Y8, Y8               \
	VADDPS  Y4, Y8, Y8               \
	VPSUBD  Y5, Y8, Y9               \
	VPMINUD outside, Y9, Y9          \
	VPSRLD  $const_cellShift, Y9, Y9 \
	VPSLLD  $4, Y9, Y9               \
	VMOVDQU Y9, (R8)                 \
	VMOVUPS Y8, 32(R8)               \
	ADDQ    $64, R8                  \
	ADDQ    $128, CX

#define PUSH(f, dx, dy) \
	VSUBPS  (DX)(CX*1), Y0, dx   \
	VSUBPS  64(DX)(CX*1), Y1, dy \
	VMULPS  f, dx, dx            \
	VMULPS  f, dy, dy            \
	VADDPS  dx, Y2, Y2           \
	VADDPS  dy, Y3, Y3           \
	VMOVUPS (DI)(CX*1), Y9       \
	VMOVUPS 64(DI)(CX*1), Y10    \
	VSUBPS  dx, Y9, Y9           \
	VSUBPS  dy, Y10, Y10         \
	VMOVUPS Y9, (DI)(CX*1)       \
	VMOVUPS Y10, 64(DI)(CX*1)
