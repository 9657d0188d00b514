"""Emulation of matrix tile instructions by functions on tiles in memory.

Tests use the emulating functions to run tile code on machines without tiles. The emulated unit in
memory consists of a configuration of 64 bytes and eight tiles of 16 rows of 64 bytes.
Source: the operations in Intel's manual, including the order of sums of TDPBF16PS and its flush of
denormals to 0.
"""

from __future__ import annotations

CONFIG_BYTES = 64

UNIT_BYTES = CONFIG_BYTES + 8 * 1024


def definitions(operation: str) -> tuple[str, ...]:
    """Return the internal function of an operation, and the definitions that it depends on."""
    return _OPERATIONS[operation]


def _loop(var: str, stop: str, body: str, after: str = "") -> str:
    """Return a loop over a body of basic blocks; the loop may have no iterations.

    `after` is the code that follows the loop.
    """
    return f"""
  br label %{var}.test
{var}.test:
  %{var} = phi i64 [ 0, %{var}.before ], [ %{var}.next, %{var}.end ]
  %{var}.more = icmp ult i64 %{var}, {stop}
  br i1 %{var}.more, label %{var}.turn, label %{var}.done
{var}.turn:{body}
  br label %{var}.end
{var}.end:
  %{var}.next = add i64 %{var}, 1
  br label %{var}.test
{var}.done:{after}"""


def _before(var: str) -> str:
    """Return the preheader of a loop."""
    return f"""
  br label %{var}.before
{var}.before:"""


def _shape(tile: str) -> str:
    """Return code that sets %{tile}.rows, %{tile}.bytes (per row) and %{tile}.ptr."""
    return f"""
  %{tile}.wide = zext i8 %{tile} to i64
  %{tile}.rows.at = add i64 %{tile}.wide, 48
  %{tile}.rows.ptr = getelementptr i8, ptr %unit, i64 %{tile}.rows.at
  %{tile}.rows.byte = load i8, ptr %{tile}.rows.ptr
  %{tile}.rows = zext i8 %{tile}.rows.byte to i64
  %{tile}.bytes.twice = shl i64 %{tile}.wide, 1
  %{tile}.bytes.at = add i64 %{tile}.bytes.twice, 16
  %{tile}.bytes.ptr = getelementptr i8, ptr %unit, i64 %{tile}.bytes.at
  %{tile}.bytes.short = load i16, ptr %{tile}.bytes.ptr
  %{tile}.bytes = zext i16 %{tile}.bytes.short to i64
  %{tile}.whole = shl i64 %{tile}.wide, 10
  %{tile}.offset = add i64 %{tile}.whole, {CONFIG_BYTES}
  %{tile}.ptr = getelementptr i8, ptr %unit, i64 %{tile}.offset"""


_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
_MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_TRAP = "declare void @llvm.trap()"

_CONFIGURE = f"""define internal void @tile.configure(ptr %unit, ptr %config) noinline nounwind {{
  call void @llvm.memset.p0.i64(ptr %unit, i8 0, i64 {UNIT_BYTES}, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %unit, ptr %config, i64 {CONFIG_BYTES}, i1 false)
  ret void
}}"""

_RELEASE = f"""define internal void @tile.release(ptr %unit) noinline nounwind {{
  call void @llvm.memset.p0.i64(ptr %unit, i8 0, i64 {UNIT_BYTES}, i1 false)
  ret void
}}"""

_ZERO = f"""define internal void @tile.zero(ptr %unit, i8 %t) noinline nounwind {{{_shape("t")}
  call void @llvm.memset.p0.i64(ptr %t.ptr, i8 0, i64 1024, i1 false)
  ret void
}}"""

_ROW = """
  %tile.row = shl i64 %i, 6
  %inside = getelementptr i8, ptr %t.ptr, i64 %tile.row
  %memory.row = mul i64 %i, %stride
  %outside = getelementptr i8, ptr %p, i64 %memory.row
  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 %t.bytes, i1 false)"""

_MOVES = "(ptr %unit, i8 %t, ptr %p, i64 %stride) noinline nounwind"

_LOAD = f"""define internal void @tile.load{_MOVES} {{
{_shape("t")}
  call void @llvm.memset.p0.i64(ptr %t.ptr, i8 0, i64 1024, i1 false){_before("i")}
{_loop("i", "%t.rows", _ROW.format(to="%inside", of="%outside"))}
  ret void
}}"""

_STORE = f"""define internal void @tile.store{_MOVES} {{
{_shape("t")}{_before("i")}
{_loop("i", "%t.rows", _ROW.format(to="%outside", of="%inside"))}
  ret void
}}"""

_FIT = """
  %k.bytes = shl i64 %b.rows, 2
  %fits.rows = icmp eq i64 %c.rows, %a.rows
  %fits.steps = icmp eq i64 %a.bytes, %k.bytes
  %fits.lanes = icmp eq i64 %c.bytes, %b.bytes
  %fits.both = and i1 %fits.rows, %fits.steps
  %fits = and i1 %fits.both, %fits.lanes
  br i1 %fits, label %sound, label %unsound
unsound:
  call void @llvm.trap()
  unreachable
sound:
  %lanes = lshr i64 %c.bytes, 2"""
"""A trap if the shapes of the three tiles of a product do not match."""

_WORDS = """
  %a.row = shl i64 %m, 6
  %a.column = shl i64 %k, 2
  %a.at = add i64 %a.row, %a.column
  %a.word.ptr = getelementptr i8, ptr %a.ptr, i64 %a.at
  %a.word = load i32, ptr %a.word.ptr
  %b.row = shl i64 %k, 6
  %b.column = shl i64 %n, 2
  %b.at = add i64 %b.row, %b.column
  %b.word.ptr = getelementptr i8, ptr %b.ptr, i64 %b.at
  %b.word = load i32, ptr %b.word.ptr"""
"""Loads of both operands for one step of one lane."""

_TOTAL = """
  %c.row = shl i64 %m, 6
  %c.column = shl i64 %n, 2
  %c.at = add i64 %c.row, %c.column
  %c.word.ptr = getelementptr i8, ptr %c.ptr, i64 %c.at"""


def _dot(name: str, begin: str, step: str, end: str) -> str:
    """Return the function that adds the product of two tiles to a third tile."""
    inner = _loop("k", "%b.rows", _WORDS + step, end)
    over_lanes = _loop("n", "%lanes", begin + _before("k") + inner)
    over_rows = _loop("m", "%c.rows", _before("n") + over_lanes)
    shapes = "".join(map(_shape, "cab"))
    head = f"define internal void @tile.{name}(ptr %unit, i8 %c, i8 %a, i8 %b) noinline nounwind"
    return f"{head} {{{shapes}{_FIT}{_before('m')}{over_rows}\n  ret void\n}}"


# bf16: products of pairs, with separate sums for first elements and for second elements.

_FLUSHED = """define internal float @tile.flushed(float %x) nounwind {
  %size = call float @llvm.fabs.f32(float %x)
  %tiny = fcmp olt float %size, 0x3810000000000000
  %zero = call float @llvm.copysign.f32(float 0.0, float %x)
  %made = select i1 %tiny, float %zero, float %x
  ret float %made
}"""

_FUSED = """define internal float @tile.fused(i32 %a, i32 %b, float %sum) nounwind {
  %a.float = bitcast i32 %a to float
  %b.float = bitcast i32 %b to float
  %a.normal = call float @tile.flushed(float %a.float)
  %b.normal = call float @tile.flushed(float %b.float)
  %raw = call float @llvm.fma.f32(float %a.normal, float %b.normal, float %sum)
  %made = call float @tile.flushed(float %raw)
  ret float %made
}"""

_FLOATS = (
    "declare float @llvm.fabs.f32(float)",
    "declare float @llvm.copysign.f32(float, float)",
    "declare float @llvm.fma.f32(float, float, float)",
)

_BF16_BEGIN = """
  store float 0.0, ptr %unit.even
  store float 0.0, ptr %unit.odd"""

_BF16_STEP = """
  %even.before = load float, ptr %unit.even
  %odd.before = load float, ptr %unit.odd
  %a.even = shl i32 %a.word, 16
  %b.even = shl i32 %b.word, 16
  %a.odd = and i32 %a.word, -65536
  %b.odd = and i32 %b.word, -65536
  %even.after = call float @tile.fused(i32 %a.even, i32 %b.even, float %even.before)
  %odd.after = call float @tile.fused(i32 %a.odd, i32 %b.odd, float %odd.before)
  store float %even.after, ptr %unit.even
  store float %odd.after, ptr %unit.odd"""

_BF16_END = f"""
  %even.all = load float, ptr %unit.even
  %odd.all = load float, ptr %unit.odd
  %both.raw = fadd float %even.all, %odd.all
  %both = call float @tile.flushed(float %both.raw){_TOTAL}
  %c.raw = load float, ptr %c.word.ptr
  %c.before = call float @tile.flushed(float %c.raw)
  %c.sum = fadd float %c.before, %both
  %c.after = call float @tile.flushed(float %c.sum)
  store float %c.after, ptr %c.word.ptr"""

_BF16 = _dot("dot_bf16", _BF16_BEGIN, _BF16_STEP, _BF16_END).replace(
    "nounwind {", "nounwind {\n  %unit.even = alloca float\n  %unit.odd = alloca float", 1
)


# Bytes: products of groups of four; sums are exact, or wrap.


def _bytes(left: str, right: str) -> str:
    wide = {"s": "sext", "u": "zext"}
    step = """
  %sum.0 = load i32, ptr %unit.sum"""
    for i in range(4):
        for side, signedness in (("a", left), ("b", right)):
            step += f"""
  %{side}.{i}.low = lshr i32 %{side}.word, {8 * i}
  %{side}.{i}.byte = trunc i32 %{side}.{i}.low to i8
  %{side}.{i} = {wide[signedness]} i8 %{side}.{i}.byte to i32"""
        step += f"""
  %product.{i} = mul i32 %a.{i}, %b.{i}
  %sum.{i + 1} = add i32 %sum.{i}, %product.{i}"""
    step += """
  store i32 %sum.4, ptr %unit.sum"""
    begin = f"""{_TOTAL}
  %c.before = load i32, ptr %c.word.ptr
  store i32 %c.before, ptr %unit.sum"""
    end = """
  %c.after = load i32, ptr %unit.sum
  store i32 %c.after, ptr %c.word.ptr"""
    text = _dot(f"dot_{left}{right}", begin, step, end)
    return text.replace("nounwind {", "nounwind {\n  %unit.sum = alloca i32", 1)


_OPERATIONS = {
    "configure": (_MEMSET, _MEMCPY, _CONFIGURE),
    "release": (_MEMSET, _RELEASE),
    "zero": (_MEMSET, _ZERO),
    "load": (_MEMSET, _MEMCPY, _LOAD),
    "store": (_MEMCPY, _STORE),
    "dot_bf16": (_TRAP, *_FLOATS, _FLUSHED, _FUSED, _BF16),
    **{f"dot_{a}{b}": (_TRAP, _bytes(a, b)) for a in "su" for b in "su"},
}
