"""Classification of the instructions of a listing: loads, fused multiply-adds, shuffles, ...

Counts are static: each instruction counts once, however often it executes. A dialect has the
mnemonics of one instruction set. An unknown mnemonic belongs to the class `vector` if an operand is
a vector register, else to `scalar`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from compiler.dataclass import dataclass
from compiler.targets.target import Target

CLASSES: dict[str, str] = {
    "load": "from memory into a vector register",
    "store": "from a vector register into memory",
    "fma": "fused multiply-add, or dot product of small types",
    "vector": "other arithmetic on vectors, with or without a memory operand",
    "shuffle": "permutation or broadcast of vector lanes",
    "scalar": "addresses, counters, and all other instructions",
    "branch": "jumps and calls",
}
"""The classes of instructions with their descriptions."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of instructions of a function per class, and the registers that it uses.

    Units: `widest_bytes` is the size of the widest vector register used. `n_registers` counts
    distinct vector registers; `n_spills` counts spills and reloads of complete registers. Both
    counts are None for machines without registers.
    """

    by_class: dict[str, int]
    widest_bytes: int
    n_registers: int | None
    n_spills: int | None

    @property
    def n_instructions(self) -> int:
        """The total number of instructions."""
        return sum(self.by_class.values())


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The patterns of mnemonics and operands of one instruction set."""

    branch: str
    fma: str
    shuffle: str
    load: str
    store: str
    vector: str
    register: str = ""
    spill: str = ""

    def classed(self, name: str, operands: str) -> str:
        """Return the class of an instruction."""
        if re.fullmatch(self.branch, name):
            return "branch"
        for kind, pattern in (("fma", self.fma), ("shuffle", self.shuffle)):
            if re.fullmatch(pattern, name):
                return kind
        on_vectors = self.register and re.search(self.register, operands)
        if not on_vectors and not re.fullmatch(self.vector, name):
            return "scalar"
        if re.fullmatch(self.load, f"{name} {operands}"):
            return "load"
        return "store" if re.fullmatch(self.store, f"{name} {operands}") else "vector"


_X86 = _Dialect(
    branch=r"j\w+|call\w*|ret\w*",
    fma=r"vf\w*m(?:add|sub)\w+|vpdp\w+|vdpbf16ps|tdp\w+",
    shuffle=r"v?(?:p?shuf\w+|p?unpck\w+|punpck\w+|perm\w+|p?broadcast\w+|insert\w+|extract\w+"
    r"|pinsr\w|pextr\w|p?blend\w+|palignr|p?align[dqr]|movddup|movs[lh]dup|mov[hl]{2}ps|pack\w+"
    r"|pslldq|psrldq|p?expand\w+|p?compress\w+)",
    load=r"v?(?:mov\w+|lddqu|p?gather\w+|p?maskmov\w+|tileload\w+) .*\).*,\s*%[xyzt]mm.*",
    store=r"v?(?:mov\w+|p?scatter\w+|p?maskmov\w+|tilestore\w+) .*%[xyzt]mm\d+,\s*\S*\(.*",
    vector=r"tile\w+|vzero\w+",
    register=r"%([xyzt])mm(\d+)",
    spill=r"v?mov\w+ (?:%[yzx]mm\d+,\s*-?\d*\(%r[sb]p\)|-?\d*\(%r[sb]p\),\s*%[xyz]mm\d+).*",
)
_ARM = _Dialect(
    branch=r"b|bl|blr|br|b\.\w+|cbn?z|tbn?z|ret",
    fma=r"f(?:n?m(?:la|ls|add|sub|ad|sb)|nml[as])l?2?(?:\.\w+)?|[su]?ml[as]l?2?(?:\.\w+)?|[su]dot"
    r"(?:\.\w+)?|bfdot|bfmmla|[su]mmla",
    shuffle=r"(?:zip|uzp|trn)[12](?:\.\w+)?|ext(?:\.\w+)?|tbl\w*(?:\.\w+)?|dup(?:\.\w+)?"
    r"|rev\w*(?:\.\w+)?|ins(?:\.\w+)?|sel|splice|insr|x?tn2?(?:\.\w+)?",
    load=r"(?:ld\w+)(?:\.\w+)? .*",
    store=r"(?:st\w+)(?:\.\w+)? .*",
    vector=r"ptrue|while\w+",
    register=r"\b([vqz])(\d+)\b",
    spill=r"(?:ld|st)[rpu]+ .*\b[qz]\d+.*\[sp\b.*",
)
_RISCV = _Dialect(
    branch=r"j|jal|jr|jalr|call|tail|ret|b(?:eq|ne|lt|ge|gt|le)u?z?",
    fma=r"vf[nw]*m(?:acc|add|sub|sac)\.\w+|v[nw]*m(?:acc|add|sub|sac)\w*\.\w+|fn?m(?:add|sub)\.\w",
    shuffle=r"v?f?(?:vf)?slide\w+\.\w+|vrgather\w*\.\w+|vcompress\.\w+|v(?:f?mv|fmerge|merge)\.\w+",
    load=r"(?:vl\w+|fl[wdh])(?:\.\w+)? .*",
    store=r"(?:vs[seux]?\w*\d\w*|fs[wdh])(?:\.\w+)? .*",
    vector=r"f\w+\.\w.*|fl[wdh]|fs[wdh]",
    register=r"\b(v)(\d+)\b",
    spill=r"v[ls]\d+re?\d*(?:\.v)? .*",
)
_WASM = _Dialect(
    branch=r"br\w*|call\w*|return|loop|block|if|else|end_\w+",
    fma=r"\w+\.relaxed_n?madd",
    shuffle=r"\w+\.(?:shuffle|swizzle|splat|replace_lane|extract_lane\w*|narrow\w*)|v128\.bitselect",
    load=r"(?:v128\.load\w*|f(?:32|64)\.load) .*",
    store=r"(?:v128\.store\w*|f(?:32|64)\.store) .*",
    vector=r"(?:v128|[fi]\d+x\d+|f32|f64)\..*",
)

_WIDTHS = {"x": 16, "y": 32, "z": 64, "t": 64}


def _dialect(target: Target) -> _Dialect:
    if target.is_x86:
        return _X86
    kind = target.triple.partition("-")[0]
    if kind.startswith(("aarch64", "arm64")):
        return _ARM
    assert kind.startswith(("riscv", "wasm")), f"{target.triple} has no dialect"
    return _RISCV if kind.startswith("riscv") else _WASM


_ENDS = (".Lfunc_end", ".size", ".cfi_endproc", "Lfunc_end", ".section", ".globl", "end_function")
"""Prefixes of the first line after a function; constants of the next function may follow it."""


def own_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of the function with which a listing begins, up to the function's end."""
    after = (i for i, line in enumerate(lines) if line.lstrip().startswith(_ENDS))
    return list(lines[: next(after, len(lines))])


def counts(asm: str, target: Target) -> Counts:
    """Count the instructions per class in a function's listing for a target."""
    dialect = _dialect(target)
    classes = Counter(dict.fromkeys(CLASSES, 0))
    registers: set[str] = set()
    widest, n_spills = 0, 0
    for name, operands in _instructions(asm):
        classes[dialect.classed(name, operands)] += 1
        for kind, number in re.findall(dialect.register, operands) if dialect.register else ():
            registers.add(number)
            widest = max(widest, _width(kind, target))
        if dialect.spill and re.fullmatch(dialect.spill, f"{name} {operands}"):
            n_spills += 1
    if not dialect.register:
        return Counts(dict(classes), 16 if "v128" in asm else 0, None, None)
    return Counts(dict(classes), widest, len(registers), n_spills)


def _width(kind: str, target: Target) -> int:
    """Return the bytes of a register; the target sets the size of SVE and RISC-V registers."""
    if target.is_x86:
        return _WIDTHS[kind]
    return target.vector_bytes if kind == "z" or target.triple.startswith("riscv") else 16


def _instructions(asm: str) -> Iterator[tuple[str, str]]:
    """Yield mnemonics and operands, without labels, directives and comments."""
    for line in asm.split("\n"):
        words = line.partition("\t#")[0].split(None, 1)  # without a comment
        if not line.startswith("\t") or not words or words[0].startswith((".", "//", ";")):
            continue
        yield words[0], words[1].strip() if len(words) > 1 else ""
