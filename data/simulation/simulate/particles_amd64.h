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
