"""The matrix tile operations of generated code: instructions, or emulating functions.

Eight tiles of up to 16 rows of 64 bytes contain sums and operands. Loading a configuration of 64
bytes sets the number of rows and the bytes per row of each tile, and clears all tiles. If a target
sets `emulates_tiles`, each operation calls a function on tiles in memory. The same code then runs
on machines without tiles, but slowly. Like the instructions, the emulating functions trap if shapes
do not match. Source: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS, TDPBSSD etc. and
TILERELEASE of Intel's manual.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.emitter import Emitter
from compiler.codegen.products.emulated_tiles import CONFIG_BYTES, UNIT_BYTES, definitions
from compiler.codegen.values import Value
from compiler.dataclass import dataclass
from compiler.ir.types import DType
from compiler.targets.target import Target

MOST_ROWS = 16
"""The maximum number of rows of a tile."""

ROW_BYTES = 64
"""The maximum number of bytes of a row of a tile."""

_UNIT = "%tiles"
"""The pointer to the tiles in memory, if tiles are emulated."""

_BYTES = {(DType.i8, DType.i8): "ss", (DType.i8, DType.u8): "su",
          (DType.u8, DType.i8): "us", (DType.u8, DType.u8): "uu"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of rows of a tile, and the bytes of each row."""

    rows: int
    row_bytes: int


Config = tuple[Shape | None, ...]
"""The shape of each tile; None for unused tiles."""


class TileUnit:
    """Emits operations on tiles in one function."""

    def __init__(self, out: Emitter, target: Target) -> None:
        self.out = out
        self.is_emulated = target.emulates_tiles
        self.configs: dict[str, None] = {}
        """The distinct instructions that load configurations, in order."""

    # Configuration

    def configure(self, shapes: Config) -> None:
        """Set the shapes of the tiles and clear them."""
        call = self._call("configure", f"ptr {self._config(shapes)}")
        self.configs[call] = None
        self.out.line(call)

    def configure_before(self) -> None:
        """Hoist a configuration out of the current loop, if the loop has no other configuration."""
        inside, outside = self.out.scopes[-1], self.out.scopes[-2]
        found = [line for line in inside.lines if line.strip() in self.configs]
        if len(set(found)) == 1:
            inside.lines = [line for line in inside.lines if line != found[0]]
            outside.lines.append(found[0])

    def around(self, lines: Sequence[str]) -> list[str]:
        """Return the lines of a function, preceded by its prologue.

        If the function has a single configuration, the prologue loads it.
        """
        if not self.configs:
            return [*lines]
        before = [f"  {_UNIT} = alloca [{UNIT_BYTES} x i8], align 64"] if self.is_emulated else []
        if len(self.configs) == 1:
            (call,) = self.configs
            before.append(f"  {call}")
            lines = [line for line in lines if line.strip() != call]
        return [*before, *lines]

    def release(self) -> list[str]:
        """Return the epilogue of a function with tiles, which releases the tiles."""
        return [f"  {self._call('release')}"] if self.configs else []

    def _config(self, shapes: Config) -> str:
        """Return the name of a constant that contains the shapes in the processor's format."""
        data = bytearray(CONFIG_BYTES)
        data[0] = 1  # the number of the only palette
        for i, shape in enumerate(shapes):
            if shape is not None:
                data[16 + 2 * i] = shape.row_bytes
                data[48 + i] = shape.rows
        shown = "_".join("" if s is None else f"{s.rows}x{s.row_bytes}" for s in shapes)
        name = f'@"tiles {shown}"'
        text = "".join(f"\\{b:02X}" for b in data)
        kind = f"[{CONFIG_BYTES} x i8]"
        self.out.declare(f'{name} = internal constant {kind} c"{text}", align 64')
        return name

    # Operations

    def clear(self, tile: int) -> None:
        """Clear a tile."""
        self.out.line(self._call("zero", f"i8 {tile}"))

    def load(self, tile: int, at: Value, stride: int) -> None:
        """Load a tile from rows at a stride in bytes."""
        self.out.line(self._call("load", f"i8 {tile}", f"ptr {at.ref}", f"i64 {stride}"))

    def store(self, tile: int, at: Value, stride: int) -> None:
        """Store the rows of a tile at a stride in bytes."""
        self.out.line(self._call("store", f"i8 {tile}", f"ptr {at.ref}", f"i64 {stride}"))

    def dot(self, total: int, left: int, right: int, kinds: tuple[DType, DType]) -> None:
        """Add the product of two tiles to a third tile."""
        name = f"dot_{_BYTES[kinds]}" if kinds in _BYTES else "dot_bf16"
        self.out.line(self._call(name, *(f"i8 {t}" for t in (total, left, right))))

    def _call(self, operation: str, *args: str) -> str:
        if self.is_emulated:
            for text in definitions(operation):
                self.out.declare(text)
            return f"call void @tile.{operation}({', '.join([f'ptr {_UNIT}', *args])})"
        name = f"llvm.x86.{_INTRINSICS[operation]}"
        kinds = ", ".join(a.split(" ")[0] for a in args)
        self.out.declare(f"declare void @{name}({kinds})")
        return f"call void @{name}({', '.join(args)})"


_INTRINSICS = {
    "configure": "ldtilecfg",
    "zero": "tilezero",
    "load": "tileloadd64",
    "store": "tilestored64",
    "dot_bf16": "tdpbf16ps",
    "dot_ss": "tdpbssd",
    "dot_su": "tdpbsud",
    "dot_us": "tdpbusd",
    "dot_uu": "tdpbuud",
    "release": "tilerelease",
}
