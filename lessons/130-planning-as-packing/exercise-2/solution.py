"""A planner: the best of several orders, each block at the lowest offset that is free."""

from course.student.memory import Problem


def plan(problem: Problem) -> list[int]:
    """Return an offset in bytes for each block of the problem, in the order of the blocks.

    A block has `size`, `start`, `end` (it is no longer needed at the step `end`) and
    `alignment_bytes`: its offset must be a multiple of this number.
    """
    # solution: return lowest(problem.blocks, range(len(problem.blocks)))
    blocks = problem.blocks
    keys = [
        lambda b: -b.size,
        lambda b: -b.size * (b.end - b.start),
        lambda b: -(b.end - b.start),
        lambda b: b.start,
        lambda b: -b.end,
    ]
    orders = [sorted(range(len(blocks)), key=lambda i, key=key: key(blocks[i])) for key in keys]
    plans = [lowest(blocks, order) for order in orders]
    return min(plans, key=lambda offsets: peak(blocks, offsets))
    # end of the solution


def lowest(blocks, order) -> list[int]:
    """Place the blocks in an order, each at the lowest offset that is free while it is live."""
    offsets = [-1] * len(blocks)
    # solution: top = 0
    for i in order:
        block, offset = blocks[i], 0
        for low, high in sorted(taken_beside(block, blocks, offsets)):
            if offset + block.size <= low:
                break
            offset = max(offset, aligned(high, block.alignment_bytes))
        offsets[i] = offset
    # end of the solution
    return offsets


def taken_beside(block, blocks, offsets) -> list[tuple[int, int]]:
    """Return the bytes of all placed blocks that are live together with a block."""
    return [
        (offset, offset + other.size)
        for other, offset in zip(blocks, offsets, strict=True)
        if offset >= 0 and other.start < block.end and block.start < other.end
    ]


def aligned(offset: int, alignment: int) -> int:
    """Return the next multiple of an alignment."""
    return -(-offset // alignment) * alignment


def peak(blocks, offsets) -> int:
    """Return the size of the arena."""
    return max(offset + block.size for block, offset in zip(blocks, offsets, strict=True))
