"""Layout assignment as a labelling problem: the kernels of a graph, and the cost of each layout.

The label of a kernel is the layout of its results. Results of the graph and values that no kernel
computes (inputs, views, results of foreign operators) are in plain order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.operator import Cost
from compiler.ir.types import TensorType, Type
from compiler.passes.layout.costs import (
    assumed_flops,
    border_tests,
    copy_cost,
    filled,
    laid_bytes,
    picoseconds,
    plain_bytes,
)
from compiler.passes.layout.labels import Copy, Energy
from compiler.passes.layout.moved import is_moved, moves_on
from compiler.passes.layout.units import (
    Unit,
    is_image,
    is_kernel,
    reach_outside,
    same_channels,
    stored_weights,
    unit_of,
)

PLAIN_LABEL, BLOCKED, LAST = 0, 1, 2
LABELS: dict[str, tuple[int, ...]] = {
    "plain": (PLAIN_LABEL,),
    "blocked": (PLAIN_LABEL, BLOCKED),
    "last": (PLAIN_LABEL, LAST),
    "all": (PLAIN_LABEL, BLOCKED, LAST),
}

STEP = 4
"""Number of bytes that one instruction sums, and channel block of byte images up to 4 channels."""

WORDS = ("plain order", "blocks of channels", "channels last")
RULES = ("plain_order", "block_channels", "channels_last")


@dataclass(frozen=True, slots=True)
class Use:
    """An operand of a kernel.

    With `follows` the operand must have the layout of the kernel's result. Without `follows`, a
    plain result requires a plain operand, and other results permit any layout of the operand. With
    `strict` the operand must be in plain order without a halo. `reach` is the extent of a window
    beyond the borders; `around` is the value of the halo.
    """

    reader: int
    operand: str
    follows: bool = False
    strict: bool = False
    reach: tuple[int, ...] = ()
    around: int = 0


@dataclass(slots=True)
class Problem:
    """Kernels, uses and costs of a graph; `refused` names kernels and images that stay plain."""

    graph: Graph
    block: int
    labels: tuple[int, ...]
    refused: Collection[str] = ()
    units: list[Unit] = field(default_factory=list)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    maker: dict[str, int] = field(default_factory=dict)
    """The kernel that chooses the layout of a value."""
    images: dict[str, TensorType] = field(default_factory=dict)
    """The values with channels and pixels, other than constants."""
    strict: set[str] = field(default_factory=set)
    """Images that are needed in plain order without a halo for every choice of labels."""
    n_bytes: dict[str, int] = field(default_factory=dict)
    flops: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value, t in self.graph.types.items():
            if isinstance(t, TensorType) and is_image(t) and value not in self.graph.constants:
                self.images[value], self.n_bytes[value] = t, plain_bytes(t)
        self.strict.update(self.graph.result_values)
        for i, node in enumerate(self.graph.nodes):
            unit = unit_of(node, self.graph)
            self.units.append(unit)
            if is_kernel(node):
                self.maker.update((v.name, i) for v in node.values() if v.name in self.images)
        for i, unit in enumerate(self.units):
            for use in self._uses_of(i, unit):
                self.uses.setdefault(use.operand, []).append(use)
                if use.strict:
                    self.strict.add(use.operand)

    def block_of(self, t: TensorType, label: int) -> int:
        """Return the channel block of a tensor under a label."""
        c = t.dims[1]
        if label == PLAIN_LABEL or not isinstance(c, int) or c == 1:
            return 1
        if label == LAST:
            return c
        return STEP if t.dtype.nbytes == 1 and c <= STEP else self.block

    def groups(self, t: TensorType) -> list[tuple[int, frozenset[int]]]:
        """Return the channel blocks of a tensor, each with its labels."""
        found: dict[int, list[int]] = {}
        for label in self.labels:
            found.setdefault(self.block_of(t, label), []).append(label)
        return [(block, frozenset(labels)) for block, labels in found.items()]

    # Constraints of kernels on their operands

    def _uses_of(self, i: int, unit: Unit) -> Iterator[Use]:
        out = unit.node.type if unit.node.types else None
        if unit.kind == "reader":
            return
        for operand in dict.fromkeys(unit.node.reads):
            t = self.images.get(operand)
            if t is None or out is None:
                continue
            if unit.kind == "other":
                yield Use(i, operand, strict=True)
            elif unit.kind == "conv" and operand == unit.data:
                reach = reach_outside(unit, self.graph, t)
                follows = self._fit(unit) != "output"
                reach = reach if any(reach) else ()
                yield Use(i, operand, follows, reach=reach, around=unit.around)
            elif unit.kind == "pieces":
                yield Use(i, operand, follows=t.dims[1] != 1)
            elif t.dims[1] != 1 or not isinstance(out, TensorType) or t.rank != out.rank:
                yield Use(i, operand, follows=same_channels(t, out) and self._blocks_alike(t, out))

    def _blocks_alike(self, t: TensorType, out: Type) -> bool:
        """Whether two images have equal channel blocks; if not, a kernel reads single elements."""
        assert isinstance(out, TensorType)
        return self.block_of(t, BLOCKED) == self.block_of(out, BLOCKED)

    def _fit(self, unit: Unit) -> str:
        """Return the support of a convolution for layouts: `no`, `output`, `both` or `grouped`.

        With `no`, the output is in plain order. With `output`, the input may have any layout. With
        `both`, the input has the layout of the result. With `grouped`, input and output have
        blocked layouts, and each group has full blocks. A convolution of bytes sums adjacent
        channels of its input, so it needs `both`.
        """
        w = stored_weights(unit, self.graph)
        assert unit.anchor is not None
        if w is None or len(unit.node.types) != 1:
            return "no"
        n_out, per_group = w.type.static_shape[:2]
        groups = int(unit.anchor.attrs["groups"])
        if unit.anchor.op == "conv_transpose":
            n_out, per_group = per_group * groups, n_out // groups
        if groups == 1 and unit.sums_bytes:
            return "both"
        if groups == 1:
            return "output" if n_out >= self.block else "no"
        if per_group == 1 and n_out == groups and n_out >= self.block:
            return "both"
        fits = per_group % self.block == 0 and (n_out // groups) % self.block == 0
        return "grouped" if fits else "no"

    def possible(self, i: int) -> list[int]:
        """Return the possible labels of a kernel."""
        unit = self.units[i]
        t = unit.node.type if unit.node.types else None
        without = unit.kind in ("other", "reader")
        if without or not isinstance(t, TensorType) or t.dims[1] == 1:
            return [PLAIN_LABEL]
        return [x for x in self.labels if x == PLAIN_LABEL or self._can(unit, t, x)]

    def _can(self, unit: Unit, t: TensorType, label: int) -> bool:
        if unit.node.output in self.refused:
            return False
        if unit.kind == "conv":
            fit = self._fit(unit)
            return fit in ("output", "both") or (fit == "grouped" and label == BLOCKED)
        return True

    # Costs of layouts

    def kernel_cost(self, i: int, label: int) -> int:
        """Return the layout-dependent cost of a kernel for a label, in picoseconds."""
        unit = self.units[i]
        if unit.kind in ("other", "reader"):
            return 0
        moved = sum(self._laid(v.name, label) for v in unit.node.values())
        for operand in dict.fromkeys(unit.node.reads):
            moved += self._laid(operand, label if self._follows(i, operand) else PLAIN_LABEL)
        if unit.kind != "conv":
            return picoseconds(Cost(0, moved), 0)
        assert unit.anchor is not None
        t = unit.node.tensor
        share = filled(unit.anchor, t, self.block, self.block_of(t, label), self._inside(unit))
        return picoseconds(Cost(round(self._flops(i) / share), moved))

    def _laid(self, value: str, label: int) -> int:
        t = self.images.get(value)
        if t is None:
            return 0
        return laid_bytes(t, self.n_bytes[value], self.block_of(t, label))

    def _follows(self, i: int, operand: str) -> bool:
        return any(u.follows for u in self.uses.get(operand, ()) if u.reader == i)

    def _flops(self, i: int) -> int:
        """Return the number of operations of a convolution."""
        unit = self.units[i]
        if i not in self.flops and unit.anchor is not None:
            self.flops[i] = assumed_flops(unit.anchor, self._inside(unit).__getitem__)
        return self.flops[i]

    def _inside(self, unit: Unit) -> Mapping[str, Type]:
        """Return the types of the values that a kernel's anchor reads."""
        body = unit.node.regions.get("body")
        return self.graph.types if body is None else body.types

    # Halos of images

    def reach(self, uses: Sequence[Use]) -> tuple[int, ...]:
        """Return the smallest halo that covers the reach of all of these uses."""
        reaches = [u.reach for u in uses if u.reach]
        return tuple(max(r) for r in zip(*reaches, strict=True)) if reaches else ()

    def around(self, value: str) -> int:
        """Return the value of an image's halo: 0, or the zero point of a quantized image."""
        return next((u.around for u in self.uses.get(value, ()) if u.reach), 0)

    def border_gain(self, value: str) -> int:
        """Return the time in picoseconds that a halo around a plain value saves its readers."""
        saved = 0
        for u in self.uses.get(value, ()):
            unit = self.units[u.reader]
            if u.reach and unit.anchor is not None:
                saved += border_tests(self._flops(u.reader))
        return saved

    def pads_plain(self, value: str) -> bool:
        """Whether a halo around a value in plain order saves time.

        The halo is free if a kernel writes it together with the value. The halo costs a copy if a
        reader needs the value without a halo, or if no kernel computes the value.
        """
        if value in self.refused:
            return False
        free = value in self.maker and value not in self.strict
        return free or self.border_gain(value) > self.border_cost(value)

    def border_cost(self, value: str) -> int:
        """Return the cost of a plain copy with a halo, in picoseconds."""
        return self._copy_cost(value, 1)

    def _copy_cost(self, value: str, block: int) -> int:
        """Return the time in picoseconds to copy a value; 0 if data movement absorbs the copy."""
        if is_moved(self.graph, value) or (block == 1 and moves_on(self.graph, value)):
            return 0
        n_bytes = self.n_bytes[value]
        return copy_cost(n_bytes, laid_bytes(self.images[value], n_bytes, block))

    # The energy

    def energy(self) -> Energy:
        """Return the energy of kernels and copies, for minimum cuts."""
        made = Energy()
        for i in range(len(self.units)):
            made.kernels.append({x: self.kernel_cost(i, x) for x in self.possible(i)})
        for value, t in self.images.items():
            if t.dims[1] != 1:
                self._add_copies(made, value, t)
        return made

    def _add_copies(self, energy: Energy, value: str, t: TensorType) -> None:
        maker, uses = self.maker.get(value), self.uses.get(value, [])
        following = [u for u in uses if u.follows]
        for block, labels in self.groups(t):
            cost = self._copy_cost(value, block)
            if PLAIN_LABEL not in labels:
                _add(energy, Copy(maker, labels, cost, _readers(following)))
            elif maker is not None and value not in self.strict:
                _add(energy, Copy(maker, labels, cost, _readers(u for u in uses if not u.strict)))
            else:
                self._add_plain(energy, value, labels, cost)

    def _add_plain(self, energy: Energy, value: str, labels: frozenset[int], cost: int) -> None:
        """Add plain copies of a value that readers need in plain order, or that no kernel computes.

        Windows with a halo need a second copy. If some window reads the value with a halo for every
        choice of labels, the copy with the halo always exists.
        """
        maker = self.maker.get(value)
        padded = [u for u in self.uses.get(value, ()) if u.reach] if self.pads_plain(value) else []
        always = any(not u.follows for u in padded)
        if maker is not None and not always:
            for label in energy.kernels[maker].keys() - labels:
                energy.kernels[maker][label] += cost
        if padded and not always:
            _add(energy, Copy(None, labels, cost, _readers(padded)))
        elif padded and maker is not None:
            _add(energy, Copy(maker, labels, cost, _readers(padded)))


def _add(energy: Energy, copy: Copy) -> None:
    if copy.readers:
        energy.copies.append(copy)


def _readers(uses: Iterable[Use]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(u.reader for u in uses))
