"""Facts about target machines, available without any compilation."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.targets.permission import may_use_tiles


@dataclass(frozen=True, slots=True)
class Target:
    """The facts about one kind of machine.

    Units: `vector_bytes` is the width of arithmetic vectors. Cache sizes are in bytes per core,
    except `l3_bytes`, the size of the entire cache. `features` is LLVM's feature string. With
    `emulates_tiles`, code calls slow functions instead of matrix tile instructions, for tests on
    machines without these instructions.
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    n_vector_registers: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    n_cores: int
    has_fma: bool
    emulates_tiles: bool = False

    def lanes(self, element_bytes: int) -> int:
        """Return the number of elements of this size in a vector register."""
        return max(self.vector_bytes // element_bytes, 1)

    @property
    def is_x86(self) -> bool:
        """Return whether this is an x86 machine."""
        return self.triple.startswith(("x86_64", "i686", "amd64"))

    @property
    def vscale_range(self) -> str:
        """Return the LLVM attribute that permits SVE for vectors of known length.

        Only targets with a fixed SVE register width have the attribute. Code for the host uses
        16-byte NEON vectors at any SVE width, so the host does not have the attribute.
        """
        if "+sve" not in self.features or self.vector_bytes <= 16:
            return ""
        n = self.vector_bytes // 16
        return f"vscale_range({n},{n})"

    @property
    def has_masks(self) -> bool:
        """Return whether masked loads and stores of a vector are single instructions."""
        return "+avx512vl" in self.features or self.cpu == "x86-64-v4" or "+sve" in self.features

    @property
    def has_int8_dot(self) -> bool:
        """Return whether one instruction adds four byte products per 32-bit lane (x86: VNNI)."""
        named = ("+avx512vnni", "+avxvnni", "+dotprod")
        return any(f in self.features.split(",") for f in named) or self.cpu in _ARM_DOT

    @property
    def has_bf16_dot(self) -> bool:
        """Return whether an instruction adds two bf16 products per f32 lane (x86: AVX-512 BF16)."""
        named = ("+avx512bf16", "+bf16")
        return any(f in self.features.split(",") for f in named) or self.cpu in _ARM_BF16

    @property
    def flushes_to_bf16(self) -> bool:
        """Return whether one instruction rounds f32 to bf16 and flushes denormals to zero (x86)."""
        return "+avx512bf16" in self.features.split(",")

    @property
    def has_bf16_tiles(self) -> bool:
        """Return whether products of bf16 matrix tiles are one instruction (x86: AMX-BF16)."""
        return self.emulates_tiles or "+amx-bf16" in self.features

    @property
    def has_int8_tiles(self) -> bool:
        """Return whether products of 8-bit matrix tiles are one instruction (x86: AMX-INT8)."""
        return self.emulates_tiles or "+amx-int8" in self.features


_ARM_DOT = ("neoverse-v1", "apple-m1")
"""Processors whose names imply Arm's dot-product instructions for bytes."""

_ARM_BF16 = ("neoverse-v1",)
"""Processors whose names imply Arm's dot-product instructions for bf16."""

_KIB, _MIB = 1 << 10, 1 << 20

_LINUX_X86 = "x86_64-unknown-linux-gnu"
_LINUX_ARM = "aarch64-unknown-linux-gnu"

_V3 = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+popcnt"
_V4 = f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,-prefer-256-bit"
_AMX = f"{_V4},+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16"

TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("x86-64", _LINUX_X86, "x86-64", "", 16, 16,
               32 * _KIB, 256 * _KIB, 8 * _MIB, 1, False),
        Target("x86-64-v3", _LINUX_X86, "x86-64-v3", _V3, 32, 16,
               32 * _KIB, 512 * _KIB, 16 * _MIB, 1, True),
        Target("x86-64-v4", _LINUX_X86, "x86-64-v4", _V4, 64, 32,
               48 * _KIB, 1 * _MIB, 32 * _MIB, 1, True),
        Target("x86-64-amx", _LINUX_X86, "x86-64-v4", _AMX, 64, 32,
               48 * _KIB, 2 * _MIB, 64 * _MIB, 1, True),
        Target("aarch64", _LINUX_ARM, "generic", "+neon,+fp-armv8", 16, 32,
               64 * _KIB, 512 * _KIB, 8 * _MIB, 1, True),
        Target("neoverse-v1", _LINUX_ARM, "neoverse-v1", "", 16, 32,
               64 * _KIB, 1 * _MIB, 32 * _MIB, 1, True),
        Target("aarch64-sve256", _LINUX_ARM, "generic", "+neon,+fp-armv8,+sve", 32, 32,
               64 * _KIB, 1 * _MIB, 32 * _MIB, 1, True),
        Target("apple-m1", "arm64-apple-macosx13.0.0", "apple-m1", "", 16, 32,
               128 * _KIB, 3 * _MIB, 12 * _MIB, 1, True),
        Target("riscv64-v256", "riscv64-unknown-linux-gnu", "generic-rv64",
               "+m,+a,+f,+d,+c,+v,+zvl256b", 32, 32, 32 * _KIB, 512 * _KIB, 4 * _MIB, 1, True),
        Target("wasm32-simd128", "wasm32-unknown-unknown", "generic", "+simd128", 16, 16,
               32 * _KIB, 512 * _KIB, 8 * _MIB, 1, False),
    )
}  # fmt: skip
"""Targets other than the host, for text and object files. Cache sizes are typical values."""


def names() -> list[str]:
    """Return the names that `by_name` accepts."""
    return ["host", *TARGETS]


def by_name(name: str) -> Target:
    """Return the target with this name; `host` is this machine. Errors: E-TARGET-NAME."""
    if name == "host":
        return host()
    given: object = name
    if not isinstance(given, str) or given not in TARGETS:
        raise CompileError("E-TARGET-NAME", f"{given!r:.60} is not one of {', '.join(names())}")
    return TARGETS[name]


@cache
def host() -> Target:
    """Return this machine as a target: features from LLVM, cache sizes from the system.

    The processor's name is ignored: virtual machines may report a wrong name, and LLVM's tuning for
    a name may split wide vectors. Matrix tiles are included if the system permits them.
    """
    import llvmlite.binding as llvm

    try:
        found = dict(llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM does not support feature detection on some systems
        found = {}
    if found.get("amx-tile") and not may_use_tiles():
        found = {k: v and not k.startswith("amx-") for k, v in found.items()}
    on = {k for k, v in found.items() if v}
    triple = llvm.get_process_triple()
    flags = sorted(("+" if v else "-") + k for k, v in found.items())
    x86 = triple.startswith(("x86_64", "i686", "amd64"))
    wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= on
    if wide:
        flags.append("-prefer-256-bit")
    vector_bytes = 64 if wide else 32 if "avx2" in on else 16
    l1d, l2, l3 = (_cache_bytes(level, fallback) for level, fallback in _FALLBACK_CACHES)
    return Target(
        name="host",
        triple=triple,
        cpu="generic",
        features=",".join(flags),
        vector_bytes=vector_bytes,
        n_vector_registers=32 if wide or not x86 else 16,
        l1d_bytes=l1d,
        l2_bytes=l2,
        l3_bytes=l3,
        n_cores=_n_cores(),
        has_fma="fma" in on or not x86,
    )


CACHES_FOLDER = "/sys/devices/system/cpu/cpu0/cache"
"""The folder in which Linux describes the caches of the first processor."""
_FALLBACK_CACHES = ((1, 32 * _KIB), (2, 512 * _KIB), (3, 8 * _MIB))


def _n_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache_bytes(level: int, fallback: int, root: str = CACHES_FOLDER) -> int:
    """Return the size in bytes of the first processor's data cache at a level, or `fallback` if
    unknown."""
    for index in sorted(Path(root).glob("index*")):
        try:
            if (index / "level").read_text().strip() != str(level):
                continue
            if (index / "type").read_text().strip() == "Instruction":
                continue
            size = parse_size((index / "size").read_text())
        except (OSError, ValueError):
            continue
        if size > 0:
            return size
    return _sysconf_bytes(level) or fallback


def _sysconf_bytes(level: int) -> int:
    key = {1: "SC_LEVEL1_DCACHE_SIZE", 2: "SC_LEVEL2_CACHE_SIZE", 3: "SC_LEVEL3_CACHE_SIZE"}[level]
    try:
        return max(os.sysconf(key), 0)
    except (ValueError, OSError, AttributeError):
        return 0


def parse_size(text: str) -> int:
    """Parse sizes such as `48K` or `32M` into bytes. Errors: ValueError."""
    text = text.strip().upper().removesuffix("B")
    factors = {"K": _KIB, "M": _MIB, "G": 1 << 30}
    factor = factors.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * factor
