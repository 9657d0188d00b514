import itertools
from typing import Any

import pytest

from compiler.ir.graph import Node
from compiler.ir.types import parse_type
from compiler.runtime.works.partition import grouped, n_crossings
from compiler.runtime.works.select import FallbackWork, NativeWork, ViewWork, Work


def work(text: str) -> Work:
    """Return nodes from a text: `b=a,c` is native, `b!a,c` a fallback, `b~a` a view."""
    mark = next(c for c in text if c in "=!~")
    name, _, reads = text.partition(mark)
    inputs = tuple(filter(None, reads.split(",")))
    node = Node("add", inputs, (name,), (parse_type("f32[2]"),), {}, name, (name,))
    if mark == "~":
        return ViewWork(node, inputs[0])
    if mark == "!":
        return FallbackWork(node, "for the test")
    nothing: Any = None  # the way of computing does not affect the position
    return NativeWork(node, nothing, nothing)


def is_legal(works: list[Work]) -> bool:
    made = {w.node.output for w in works}
    done: set[str] = set()
    for w in works:
        if any(r in made - done for r in w.node.reads):
            return False
        done.add(w.node.output)
    return True


@pytest.mark.parametrize(
    ("text", "fewest"),
    [
        ("a=x b!x c=a d!b e=c,d", 1),
        ("a!x b=a c!x d=c e!d", 2),
        ("a=x b!a c=b d!c", 3),
        ("a=x v~a b!v c=x d~c e!d f=e", 2),
        ("a=x b=a", 0),
        ("b!x", 0),
    ],
)
def test_as_few_changes_of_side_as_any_order_has(text: str, fewest: int):
    works = [work(t) for t in text.split()]
    made = grouped(works)
    assert sorted(map(id, made)) == sorted(map(id, works))
    assert is_legal(made)
    all_orders = (list(o) for o in itertools.permutations(works))
    assert n_crossings(made) == fewest == min(n_crossings(o) for o in all_orders if is_legal(o))


def test_an_order_that_is_good_already_stays():
    works = [work(t) for t in "b!x a=x c=b".split()]
    assert n_crossings(works) == 1
    assert grouped(works) == works
