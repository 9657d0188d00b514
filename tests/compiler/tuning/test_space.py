"""Tests of search spaces: default point, rendered texts, and correct results if legal."""

import random

import numpy as np
import pytest

import compiler
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target, by_name, host
from compiler.tuning.features import N_FEATURES, features
from compiler.tuning.judge import Judge
from compiler.tuning.space import Space, space_of

GRAPHS = {
    "matmul": """
    graph g(x: f32[9,40], w: f32[40,70]) {
      y: f32[9,70] = matmul(x, w)
      return y
    }
    """,
    "conv": """
    graph g(x: f32[1,48,9,19], w: f32[96,48,3,3]) {
      y: f32[1,96,7,17] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1], groups=1)
      return y
    }
    """,
    "pool": """
    graph g(x: f32[1,20,12,10]) {
      y: f32[1,20,10,8] = max_pool(x, kernel=[3,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
    "tiles": """
    graph g(x: f32[1,32,12,12]) {
      const w: f32[64,32,3,3] = splat(0.5)
      y: f32[1,64,12,12] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=1)
      return y
    }
    """,
    "softmax": "graph g(x: f32[6,70]) {\n  y: f32[6,70] = softmax(x)\n  return y\n}",
    "attention": """
    graph g(q: f32[2,96,8], k: f32[2,70,8], v: f32[2,70,16]) {
      y: f32[2,96,16] = attention(q, k, v, scale=0.5)
      return y
    }
    """,
    "weights": """
    graph g(x: f32[32,768]) {
      const w: f32[768,160] = splat(0.5)
      y: f32[32,160] = matmul(x, w)
      return y
    }
    """,
    "exp": "graph g(x: f32[7,100]) {\n  y: f32[7,100] = exp(x)\n  return y\n}",
}


def kernel_of(name: str, target: str = "host") -> KernelInfo:
    program = compiler.compile(compiler.parse(GRAPHS[name]), target=target, tuned=False)
    return max(program.kernels, key=lambda k: k.flops or 0)


def sketch(k: KernelInfo, target: Target | None = None) -> tuple[Space, str]:
    assert k.computation is not None
    target = host() if target is None else target
    text = "".join(f"{m}\n" for m in k.moves)
    return space_of(k.computation, k.constants, text, CodeOptions(target)), text


@pytest.mark.parametrize("name", GRAPHS)
def test_the_default_point_is_the_policys_schedule(name: str) -> None:
    space, text = sketch(kernel_of(name))
    kept = [line.partition(" because")[0] for line in text.splitlines() if "parallel(" not in line]
    assert space.text(space.default).splitlines() == kept
    assert space.size > 1
    assert all(len(k.settings) > 1 for k in space.knobs)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_legal_point_computes_the_same(name: str) -> None:
    k = kernel_of(name, "x86-64-v3")
    assert k.computation is not None
    space, _ = sketch(k, by_name("x86-64-v3"))
    target = by_name("x86-64-v3") if host().is_x86 else host()
    judge = Judge(k.computation, k.constants, CodeOptions(target))
    chance = random.Random(5)
    points = [space.neighbour(space.default, chance) for _ in range(4)]
    points += [space.random(chance) for _ in range(4)]
    outcomes = [v.outcome for v in judge.verdicts([space.text(p) for p in points], 0.0)]
    assert set(outcomes) <= {"right", "refused"}
    assert "right" in outcomes


def test_knobs_turn_what_they_say() -> None:
    space, _ = sketch(kernel_of("conv"))
    kinds = {k.kind for k in space.knobs}
    assert {"factor", "order", "block", "cache"} <= kinds
    for i, knob in enumerate(space.knobs):
        other = list(space.default)
        other[i] = (other[i] + 1) % len(knob.settings)
        before, after = (
            space.text(space.default).splitlines(),
            space.text(tuple(other)).splitlines(),
        )
        assert before != after
        if knob.kind in ("factor", "unroll"):
            changed = [b for a, b in zip(before, after, strict=True) if a != b]
            assert changed == [str(space.rendered(tuple(other))[knob.line])]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("softmax", "turn", "compute_at"), ("attention", "turn", "compute_at"),
     ("weights", "ahead", "prefetch")],
)  # fmt: skip
def test_stages_move_and_operands_are_asked_for_further_ahead(
    name: str, kind: str, words: str
) -> None:
    k = kernel_of(name)
    assert k.computation is not None
    text = "".join(f"{m}\n" for m in k.moves)
    if words not in text:  # a policy prefetches on some machines only
        text += "Y: prefetch(B, k, 16)\n"
    space = space_of(k.computation, k.constants, text, CodeOptions(host()))
    knobs = [(i, knob) for i, knob in enumerate(space.knobs) if knob.kind == kind]
    assert knobs
    judge = Judge(k.computation, k.constants, CodeOptions())
    outcomes: list[str] = []
    for i, knob in knobs:
        n = len(knob.settings)
        texts = [space.text((*space.default[:i], at, *space.default[i + 1 :])) for at in range(n)]
        outcomes += [v.outcome for v in judge.verdicts(texts, 0.0)]
        assert texts[-1].count(words) < text.count(words)
    assert set(outcomes) <= {"right", "refused"}
    assert outcomes.count("right") > len(knobs)


def test_knobs_of_lines_that_a_turn_takes_away_turn_nothing() -> None:
    """Blocks of 48 leave 5 of 53 queries, with separate lines for their nests; blocks of 1 none."""
    graph = compiler.parse(GRAPHS["attention"].replace("96", "53"))
    (kernel,) = compiler.compile(graph, tuned=False).kernels
    space, text = sketch(kernel)
    assert "#2" in text
    (at,) = (i for i, k in enumerate(space.knobs) if k.kind == "turn" and k.settings[0] == 48)
    one = space.knobs[at].settings.index(1)
    chance = random.Random(4)
    for _ in range(20):
        point = space.random(chance)
        assert "#2" not in space.text((*point[:at], one, *point[at + 1 :]))


@pytest.mark.parametrize("kind", ["block", "cache"])
def test_blocks_and_parts_of_sums_are_right(kind: str) -> None:
    """Splits of a loop with a shorter last part are refused."""
    k = kernel_of("conv")
    assert k.computation is not None
    space, _ = sketch(k)
    judge = Judge(k.computation, k.constants, CodeOptions())
    i = next(i for i, knob in enumerate(space.knobs) if knob.kind == kind)
    texts = [
        space.text((*space.default[:i], n, *space.default[i + 1 :]))
        for n in range(1, min(len(space.knobs[i].settings), 5))
    ]
    assert all(("cache_write" in text) == (kind == "cache") for text in texts)
    found = judge.verdicts(texts, 0.0)
    assert {v.outcome for v in found} <= {"right", "refused"}
    assert any(v.outcome == "right" for v in found)
    assert all("shorter" in v.words for v in found if v.outcome == "refused")


def test_neighbours_differ_in_one_knob_and_children_take_after_their_parents() -> None:
    space, _ = sketch(kernel_of("conv"))
    chance = random.Random(1)
    for _ in range(50):
        a = space.random(chance)
        b = space.neighbour(a, chance)
        assert sum(x != y for x, y in zip(a, b, strict=True)) == 1
        c = space.cross(a, b, chance)
        assert all(z in (x, y) for x, y, z in zip(a, b, c, strict=True))


@pytest.mark.parametrize("name", GRAPHS)
def test_features_have_one_length_and_see_the_tile(name: str) -> None:
    k = kernel_of(name)
    assert k.computation is not None
    space, _ = sketch(k)
    found = features(space, space.default, host())
    assert len(found) == N_FEATURES
    assert all(np.isfinite(found))
    for i, knob in enumerate(space.knobs):
        other = (*space.default[:i], (space.default[i] + 1) % 2, *space.default[i + 1 :])
        if other != space.default and knob.kind in ("factor", "unroll", "keep"):
            assert features(space, other, host()) != found
