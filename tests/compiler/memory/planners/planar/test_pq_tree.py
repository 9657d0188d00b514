import itertools
import random

from compiler.memory.planners.research.planar.pq_tree import (
    LEAF,
    P,
    Tree,
    any_order,
    in_order,
    leaf,
    replaced,
)


def orders(tree: Tree) -> set[tuple[int, ...]]:
    """Return all orders of a tree, by enumerating the permutations of its nodes."""
    _, kind, children = tree
    if kind == LEAF:
        return {children}
    turns = itertools.permutations(children) if kind == P else (children, children[::-1])
    return {
        tuple(itertools.chain(*row))
        for turn in turns
        for row in itertools.product(*(orders(child) for child in turn))
    }


def replaced_in(order: tuple[int, ...], some: set[int], by: tuple[int, ...]) -> tuple[int, ...]:
    """Return an order with other leaves instead of some; None if these are not contiguous."""
    at = [i for i, number in enumerate(order) if number in some]
    if at[-1] - at[0] >= len(at):
        return ()
    return (*order[: at[0]], *by, *order[at[-1] + 1 :])


def test_a_reduction_keeps_exactly_the_orders_in_which_the_leaves_stand_together() -> None:
    chance = random.Random(3)
    n_refused = n_parted = 0
    for _ in range(100):
        tree, alive, fresh = any_order([leaf(i) for i in range(5)]), list(range(5)), 5
        for _ in range(6):
            some = set(chance.sample(alive, min(len(alive), chance.randint(2, 3))))
            n_new = chance.randint(1, 3)
            by = any_order([leaf(i) for i in range(fresh, fresh + n_new)])
            expected = {
                row
                for order in orders(tree)
                for end in orders(by)
                if (row := replaced_in(order, some, end))
            }
            new = replaced(tree, sum(1 << i for i in some), by)
            assert (orders(new) if new else set()) == expected
            if new is None:
                n_refused += 1
                break
            n_parted += len(expected) < len(orders(tree))
            tree = new
            alive = [i for i in alive if i not in some] + list(range(fresh, fresh + n_new))
            fresh += n_new
    assert n_refused > 5
    assert n_parted > 50


def test_an_order_follows_ranks_and_keeps_equal_ones_together() -> None:
    tree = any_order([leaf(i) for i in range(4)])
    tree = replaced(tree, 0b0011, any_order([leaf(4), leaf(5)]))
    assert tree is not None
    assert in_order(tree, {2: 0, 4: 1, 5: 2, 3: 3}) == [2, 4, 5, 3]
    assert in_order(tree, {2: 0, 4: 2, 5: 1, 3: 1})[1:] in ([3, 5, 4], [5, 4, 3])
