"""The operations on matrix tiles that generated code calls: instructions, or functions beside it.

Eight tiles of up to 16 rows of 64 bytes hold sums and operands. A configuration of 64 bytes says
how many rows of how many bytes each has; it also clears all tiles. `emulates_tiles` of a target
turns each operation into a call of a function that does the same to tiles in memory, so that the
very same code runs, slowly, where there are none. Those functions stop the program where the
instruction would: when shapes do not fit each other.
Source: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS, TDPBSSD and their kin, TILERELEASE of
Intel's manual.
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
"""Rows of a tile."""

ROW_BYTES = 64
"""Bytes of a row of a tile."""

_UNIT = "%tiles"
"""Tiles in memory, where they are emulated."""

_BYTES = {(DType.i8, DType.i8): "ss", (DType.i8, DType.u8): "su",
          (DType.u8, DType.i8): "us", (DType.u8, DType.u8): "uu"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows of a tile, and bytes of each row."""

    rows: int
    row_bytes: int


Config = tuple[Shape | None, ...]
"""The shape of each tile; None where nothing uses it."""


class TileUnit:
    """Writes operations on tiles into one function."""

    def __init__(self, out: Emitter, target: Target) -> None:
        self.out = out
        self.is_emulated = target.emulates_tiles
        self.configs: dict[str, None] = {}
        """The lines that set configurations."""

    # Around everything else

    def configure(self, shapes: Config) -> None:
        """Give the tiles their shapes; all of them are zero then."""
        call = self._call("configure", f"ptr {self._config(shapes)}")
        self.configs[call] = None
        self.out.line(call)

    def configure_before(self) -> None:
        """Take a configuration out of the loop that is open, if it is the only one in there."""
        inside, outside = self.out.scopes[-1], self.out.scopes[-2]
        found = [line for line in inside.lines if line.strip() in self.configs]
        if len(set(found)) == 1:
            inside.lines = [line for line in inside.lines if line != found[0]]
            outside.lines.append(found[0])

    def around(self, lines: Sequence[str]) -> list[str]:
        """The lines of the whole function with what stands at its beginning.

        A configuration that is the only one is set there, not again and again.
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
        """What stands at the end of a function that used tiles: their contents need no saving."""
        return [f"  {self._call('release')}"] if self.configs else []

    def _config(self, shapes: Config) -> str:
        """A constant with the shapes as the processor reads them, by name."""
        data = bytearray(CONFIG_BYTES)
        data[0] = 1  # the only palette
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
        """Make all of a tile zero."""
        self.out.line(self._call("zero", f"i8 {tile}"))

    def load(self, tile: int, at: Value, stride: int) -> None:
        """Fill a tile with rows that lie a stride of bytes apart."""
        self.out.line(self._call("load", f"i8 {tile}", f"ptr {at.ref}", f"i64 {stride}"))

    def store(self, tile: int, at: Value, stride: int) -> None:
        """Write the rows of a tile a stride of bytes apart."""
        self.out.line(self._call("store", f"i8 {tile}", f"ptr {at.ref}", f"i64 {stride}"))

    def dot(self, total: int, left: int, right: int, kinds: tuple[DType, DType]) -> None:
        """Add the products of a tile's rows and another's columns to a third."""
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
