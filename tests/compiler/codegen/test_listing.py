"""Tests of instruction counts, on hand-written listings of each kind of machine."""

from __future__ import annotations

import pytest

from compiler.codegen.listing import CLASSES, Counts, counts
from compiler.targets.target import by_name

X86 = """kernel:
	pushq	%rbx
	vmovups	(%rdi), %ymm0
	vbroadcastss	4(%rdi,%rax), %ymm1
	vfmadd231ps	(%rsi), %ymm1, %ymm0
	vaddps	%ymm2, %ymm0, %ymm0	# a comment with %zmm9
	vpermps	%ymm0, %ymm3, %ymm4
	vmovaps	%ymm4, -32(%rsp)
	vmovups	%ymm0, (%rdx)
	.p2align	4
.LBB0_1:
	addq	$32, %rdi
	jne	.LBB0_1
	retq
"""
ARM = """kernel:
	ldp	q0, q1, [x0, #32]
	fmla	v2.4s, v0.4s, v1.s[1]
	zip1	v3.4s, v0.4s, v1.4s
	fadd	v3.4s, v3.4s, v2.4s
	str	q3, [sp, #16]
	str	q2, [x1]	// kept
	add	x0, x0, #16
	b.lt	.LBB0_1
	ret
"""
RISCV = """kernel:
	vsetivli	zero, 8, e32, m1, ta, ma
	vle32.v	v8, (a0)
	flw	fa5, 0(a1)
	vfmacc.vf	v9, fa5, v8
	vfadd.vv	v9, v9, v8
	vslidedown.vi	v10, v9, 2
	vs1r.v	v9, (a2)
	vse32.v	v9, (a3)
	addi	a0, a0, 32
	blt	a0, a4, .LBB0_1
	ret
"""
WASM = """kernel:
	.functype	kernel (i32) -> ()
	loop
	local.get	0
	v128.load	16
	local.get	0
	v128.load32_splat	0
	f32x4.mul
	i8x16.shuffle	0, 1, 2, 3
	v128.store	0:p2align=2
	i32.add
	br_if	0
	end_loop
	end_function
"""


@pytest.mark.parametrize(
    ("target", "asm", "classes", "rest"),
    [
        ("x86-64-v3", X86, [1, 2, 1, 1, 2, 2, 2], (32, 5, 1)),
        ("aarch64", ARM, [1, 2, 1, 1, 1, 1, 2], (16, 4, 1)),
        ("riscv64-v256", RISCV, [2, 2, 1, 1, 1, 2, 2], (32, 3, 1)),
        ("wasm32-simd128", WASM, [2, 1, 0, 1, 1, 3, 4], (16, None, None)),
    ],
)
def test_each_instruction_is_of_one_class(
    target: str, asm: str, classes: list[int], rest: tuple[int, int | None, int | None]
) -> None:
    by_class = dict(zip(CLASSES, classes, strict=True))
    assert counts(asm, by_name(target)) == Counts(by_class, *rest)


SVE = """kernel:
	ldr	z0, [x0, #1, mul vl]
	str	z0, [x1]
	str	z8, [sp, #1, mul vl]
	ret
"""


def test_only_accesses_to_the_stack_are_spills() -> None:
    assert counts(SVE, by_name("aarch64-sve256")).n_spills == 1
