"""Tests of the tree of groups of a model, and of the groups of later stages' nodes."""

from __future__ import annotations

from cProfile import Profile
from pstats import Stats

import pytest

from app.grouping import Group, Homes, Item, tree_of
from app.grouping.scopes import common, scopes_of
from app.grouping.tree import MOST_IN_LEVEL


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("/encoder/layer.0/attn/MatMul", ("encoder", "layer.0", "attn")),
        ("model/dense/MatMul", ("model", "dense")),
        ("encoder.layer.3.attn", ("encoder", "layer", "3")),
        ("p2o.Add.6", ()),
        ("MatMul_12", ()),
        ("/Relu", ()),
        ("//a//b", ("a",)),
        ("///", ()),
        ("", ()),
    ],
)
def test_scopes_are_read_from_names(name, scopes):
    assert scopes_of(name) == scopes


def test_what_scopes_have_in_common():
    assert common([("a", "b", "c"), ("a", "b"), ("a", "b", "d")]) == ("a", "b")
    assert common([("a",), ("b",)]) == ()
    assert common([]) == ()


@pytest.mark.parametrize("mark", "/.")
def test_a_name_may_tell_of_thousands_of_scopes(mark):
    items = [Item(f"v{i}", "Add", (mark.join([*"ab" * 2000, f"x{i % 2}y"]),)) for i in range(40)]
    edges = [(f"v{i}", f"v{i + 1}") for i in range(39)]
    root = tree_of(items, edges)
    assert list(root.ids()) == [i.id for i in items]


def chain(*names: str) -> tuple[list[Item], list[tuple[str, str]]]:
    """Return nodes in a chain; an operator is the last scope of the name, without its number."""
    items = [
        Item(f"v{i}", name.split("/")[-1].split("_")[0], (name,)) for i, name in enumerate(names)
    ]
    return items, [(f"v{i}", f"v{i + 1}") for i in range(len(names) - 1)]


LAYER = ("att/q", "att/k", "att/mul", "att/soft", "mlp/dot", "mlp/gelu", "mlp/dot_1", "mlp/add")


def outline(group: Group) -> list:
    """Return the nested labels of groups with repeats, and the numbers of nodes."""
    inside = [outline(child) for child in group.children if isinstance(child, Group)]
    n_nodes = sum(isinstance(child, str) for child in group.children)
    return [f"{group.label} x{group.times}", n_nodes, *inside]


def test_layers_with_names_are_a_repeat_of_scopes():
    names = [f"/enc/layer.{k}/{part}" for k in range(4) for part in LAYER]
    root = tree_of(*chain("/embed/a", *names, "/head/z"))
    layer = [["att x1", 4], ["mlp x1", 4]]
    assert outline(root) == [
        " x1",
        2,
        ["enc x4", 0, *([f"layer.{k} x1", 0, *layer] for k in range(4))],
    ]
    assert [g.key for g in root.groups()][:3] == ["g0", "g1", "g2"]
    att = next(g for g in root.groups() if g.label == "att")
    assert att.path == ("g0", "g1", "g2")


def test_layers_without_names_are_found_by_their_structure():
    names = [f"{op}_{k}{i}" for k in range(5) for i, op in enumerate(["dot", "add", "relu", "sum"])]
    root = tree_of(*chain("a", "b", "c", *names, "y"))
    blocks = [[f"block {k + 1} x1", 4] for k in range(5)]
    assert outline(root) == [" x1", 4, ["block x5", 0, *blocks]]


def test_a_scope_around_everything_is_none_and_small_ones_are_dissolved():
    names = [f"/model/part{k}/{op}" for k in (1, 2) for op in ("a", "b", "c", "d", f"e{k}", "f")]
    rest = [f"/model/one{k}/w{k}" for k in range(12)]
    assert outline(tree_of(*chain(*names, *rest))) == [" x1", 12, ["part1 x1", 6], ["part2 x1", 6]]


def test_a_small_model_has_no_groups():
    assert list(tree_of(*chain(*[f"/s/{c}" for c in "abcdefgh"])).groups()) == []


def test_weights_made_by_nodes_lie_with_what_reads_them():
    names = [f"/l{k}/{c}{k}" for k in range(3) for c in "abcdefgh"]
    items, edges = chain(*names)
    made = [Item(f"w{k}", "fill", (f"Fill_{k}",)) for k in range(3)]
    edges += [(f"w{k}", f"v{8 * k + 2}") for k in range(3)]
    root = tree_of([*made, *items], edges)
    for k, group in enumerate(root.groups()):
        assert f"w{k}" in group.children, group.label


@pytest.mark.parametrize("n", [MOST_IN_LEVEL, 1000])
def test_no_level_has_more_boxes_than_are_seen(n):
    # A triangle of distinct operators, without names, repeats and chains.
    items = [Item(f"v{i}", f"op{i}", (f"v{i}",)) for i in range(n)]
    edges = [(f"v{i}", f"v{j}") for i in range(n) for j in (2 * i + 1, 2 * i + 2, i + 1) if j < n]
    root = tree_of(items, edges)
    assert sorted(root.ids()) == sorted(i.id for i in items)
    assert all(len(g.children) <= MOST_IN_LEVEL for g in (root, *root.groups()))
    assert (n <= MOST_IN_LEVEL) == (not list(root.groups()))


def test_a_later_node_lies_where_most_of_what_it_came_from_lies():
    names = [f"/l{k}/{'ab'[k]}{c}" for k in range(2) for c in "cdefghijklmn"]
    items, edges = chain(*names, "/z")
    root = tree_of(items, edges)
    homes = Homes.of(root, items)
    first, second = (g.key for g in root.groups())
    assert homes.find(["/l0/ac"]) == first
    assert homes.find(["/l0/an", "/l1/bc", "/l1/bd"]) == second
    assert homes.find(["/l0/an", "/l1/bc"]) == first
    assert homes.find(["/z"]) == ""
    assert homes.find(["/z", "/l1/bc"]) in ("", second)
    assert homes.find([]) == ""
    assert homes.find(["nothing known"]) == ""


def test_thousands_of_nodes_from_one_node_of_the_model_find_their_homes_at_once() -> None:
    scopes = [f"f/{'/'.join(f'{i:013b}')}/op" for i in range(1 << 13)]
    items = [Item(name, "sin", ("call",)) for name in scopes]
    root = tree_of(items, [])
    homes = Homes.of(root, items)
    homes.find(("call",))
    profile = Profile()
    for _ in items:
        profile.runcall(homes.find, ("call",))
    # The number of calls per node is constant, and independent of the machine.
    assert Stats(profile).total_calls < 10 * len(items)  # type: ignore[attr-defined]
