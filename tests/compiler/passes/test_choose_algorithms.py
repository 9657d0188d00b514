from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import compiler
from compiler.check.model import check_model
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.winograd import ALGORITHMS
from compiler.passes import PASSES, run_pipeline
from compiler.passes.algorithms.cycles import Products, Shape
from compiler.trace import Log, Step
from tests.compiler.passes.numbers import graph

CHOOSE = PASSES["choose_algorithms"]

IMAGE, LAID = "f32[1,32,30,28]", "{c16,halo=1x1}"


def network(
    window: str = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]",
    weights: str = "const v: f32[48,32,3,3] = splat(0.25)",
    result: str = "f32[1,48,30,28]",
    layouts: tuple[str, str] = (LAID, "{c16}"),
) -> Graph:
    """Return a convolution under test after a small one, which gives its image a layout."""
    first, second = layouts
    inputs, constant = ("", weights) if weights.startswith("const") else (f", {weights}", "")
    return graph(f"""
    graph g(x: {IMAGE}{inputs}) {{
      const w: f32[32,32,1,1] = splat(0.5)
      {constant}
      a: {IMAGE}{first} = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      y: {result}{second} = conv(a, v, {window})
      return y
    }}
    """)


def chosen(g: Graph, **options: float | str) -> tuple[str, list[Step]]:
    """Return the algorithm of the convolution under test, and its steps."""
    log = Log()
    after = CHOOSE.run(g, log, **options)
    return str(after.nodes[-1].attrs["algorithm"]), [s for s in log.steps if s.at == "y"]


def test_a_large_image_is_computed_in_small_tiles() -> None:
    name, steps = chosen(network())
    assert name == "winograd2"
    assert [(s.rule, s.outcome) for s in steps] == [
        ("winograd4", "declined"),
        ("winograd2", "applied"),
    ]
    assert "its error, 2e-5, exceeds the budget, 2e-6" in steps[0].because
    assert "3,360 multiplications per pair of channels instead of 7,560" in steps[1].because
    assert steps[1].error == 2e-6


def test_a_larger_budget_allows_larger_tiles() -> None:
    name, (step,) = chosen(network(), budget=1e-4)
    assert (name, step.error) == ("winograd4", 2e-5)


def test_no_budget_leaves_everything_as_it_is() -> None:
    g = network()
    assert CHOOSE.run(g, Log(), budget=0) is g


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"window": "strides=[2,2], pads=[1,1,1,1], dilations=[1,1]",
          "result": "f32[1,48,15,14]"}, "the strides are 2x2"),
        ({"window": "strides=[1,1], pads=[2,2,2,2], dilations=[2,2]",
          "layouts": ("{c16,halo=2x2}", "{c16}")}, "the dilations are 2x2"),
        ({"window": "strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=2",
          "weights": "const v: f32[48,16,3,3] = splat(0.25)"}, "the convolution has 2 groups"),
        ({"window": "strides=[1,1], pads=[1,0,1,0], dilations=[1,1]",
          "weights": "const v: f32[48,32,3,1] = splat(0.25)"}, "the window is 3x1"),
        ({"weights": "v: f32[48,32,3,3]"}, "the weights are computed"),
        ({"layouts": (LAID, "")}, "the result is in plain order"),
        ({"layouts": ("{c16}", "{c16}")}, "the image is stored without its zero padding"),
    ],
)  # fmt: skip
def test_what_tiles_do_not_suit_is_declined(changes: dict[str, str], because: str) -> None:
    g = network(**changes)  # type: ignore[arg-type]
    name, (step,) = chosen(g, budget=1.0)
    assert (name, step.rule, step.outcome) == ("direct", "tile", "declined")
    assert because in step.because
    assert CHOOSE.run(g, Log(), budget=1.0) is g


@pytest.mark.parametrize("pads", ["1,1,1,1", "2,0,0,2"])
def test_an_image_in_plain_order_is_copied_into_blocks(pads: str) -> None:
    g = network(f"strides=[1,1], pads=[{pads}], dilations=[1,1]", layouts=("", "{c16}"))
    after = CHOOSE.run(g, log := Log())
    copy, conv = after.nodes[-2:]
    assert (copy.op, copy.inputs, conv.inputs[0]) == ("relayout", ("a",), "a.laid")
    halo = "1x1" if pads[0] == "1" else "2x2"
    assert str(copy.types[0]) == f"{IMAGE}{{c16,halo={halo}}}"
    assert [s.rule for s in log.steps if s.outcome == "applied"] == ["winograd2", "relayout"]
    assert "with a copy of the image into blocks" in log.steps[-2].because
    x = {"x": np.random.default_rng(3).standard_normal((1, 32, 30, 28)).astype(np.float32)}
    made, wanted = (compiler.compile(each, pipeline="none").run(x)["y"] for each in (after, g))
    assert np.abs(made - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_a_copy_that_stands_there_already_gets_the_layout() -> None:
    g = graph(f"""
    graph g(x: {IMAGE}) {{
      const v: f32[48,32,3,3] = splat(0.25)
      l: {IMAGE}{{halo=1x1}} = relayout(x)
      y: f32[1,48,30,28]{{c16}} =
        conv(l, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      return y
    }}
    """)
    after = CHOOSE.run(g, Log())
    assert [n.op for n in after.nodes] == ["relayout", "conv"]
    assert str(after.nodes[0].types[0]) == f"{IMAGE}{LAID}"


def test_few_channels_in_plain_order_stay_there() -> None:
    t = "f32[1,3,30,28]"
    g = graph(f"""
    graph g(x: {t}) {{
      const v: f32[48,3,3,3] = splat(0.25)
      y: f32[1,48,30,28]{{c16}} =
        conv(x, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      return y
    }}
    """)
    _, (step,) = chosen(g)
    assert step.because == "the image has 3 channels, fewer than a block of 16"


def test_open_sizes_are_declined() -> None:
    text = str(network()).replace("[1,32,", "[N,32,").replace("[1,48,", "[N,48,")
    _, (step,) = chosen(graph(text))
    assert "known only at run time" in step.because


def test_small_images_do_not_pay_for_weights_that_grow() -> None:
    t = "f32[1,512,2,3]"
    g = graph(f"""
    graph g(x: {t}) {{
      const w: f32[512,512,1,1] = splat(0.5)
      const v: f32[512,512,3,3] = splat(0.5)
      a: {t}{LAID} = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      y: {t}{{c16}} = conv(a, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      return y
    }}
    """)
    name, steps = chosen(g, budget=1.0)
    assert name == "direct"
    assert all(s.outcome == "declined" for s in steps)
    reasons = steps[0].because + steps[1].because
    assert "9,437,184 bytes of weights grow by a factor of 1.8" in reasons


def test_what_is_refused_is_taken_by_the_next_best_or_stays() -> None:
    g = network()
    log = Log(gate=lambda d: d.rule != "winograd4", pass_name="choose_algorithms")
    after = CHOOSE.run(g, log, budget=1.0)
    assert after.nodes[-1].attrs["algorithm"] == "winograd2"
    assert CHOOSE.run(g, Log(gate=lambda d: False), budget=1.0) is g


def test_a_second_run_changes_nothing() -> None:
    after = CHOOSE.run(network(), Log())
    assert CHOOSE.run(after, Log()) is after


def test_the_model_of_cycles_prefers_large_images_and_many_channels() -> None:
    f2, f4 = ALGORITHMS["winograd2"], ALGORITHMS["winograd4"]
    assert f2 is not None
    assert f4 is not None
    large, small, thin = Shape(1, 64, 64, 56, 56), Shape(1, 512, 512, 7, 7), Shape(1, 8, 8, 56, 56)
    assert large.tiled(f4) < large.tiled(f2) < large.direct
    assert small.tiled(f2) < small.tiled(f4)
    assert thin.direct < thin.tiled(f2)


def small_network(seed: int = 0) -> Graph:
    """Return two convolutions that suit tiles, with random weights."""
    t = "f32[1,48,15,14]"
    g = graph(f"""
    graph g(x: f32[1,3,15,14]) {{
      const w: f32[48,3,3,3] = splat(0.5)
      const v: f32[48,48,3,3] = splat(0.5)
      const b: f32[48] = splat(0.5)
      a: {t} = conv(x, w, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      r: {t} = relu(a)
      c: {t} = conv(r, v, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      s: {t} = add(c, r)
      y: {t} = relu(s)
      return y
    }}
    """)
    chance = np.random.default_rng(seed)
    drawn = {
        k: Constant.of((chance.standard_normal(c.type.static_shape) / 12).astype(np.float32))
        for k, c in g.constants.items()
    }
    return replace(g, constants=drawn)


def tall_network() -> Graph:
    """Return a convolution over many pixels after a small one, with random weights."""
    g = network(weights="const v: f32[48,32,3,3] = splat(0.25)")
    chance = np.random.default_rng(5)
    drawn = {
        k: Constant.of((chance.standard_normal(c.type.static_shape) / 12).astype(np.float32))
        for k, c in g.constants.items()
    }
    return replace(g, constants=drawn)


@pytest.mark.parametrize(("precision", "algorithm"), [("f32", "winograd2"), ("fast", "winograd4")])
def test_models_stay_what_they_are_in_both_modes(precision: str, algorithm: str) -> None:
    verdict = check_model(small_network(), precision=precision)
    assert verdict.ok, verdict.findings
    assert verdict.program is not None
    made = [n.attrs["algorithm"] for n in all_nodes(verdict.program.graph) if n.op == "conv"]
    assert made == ["direct", algorithm]
    trace = verdict.program.trace
    assert trace is not None
    passes = [e.name for e in trace.events if e.name != "order"]
    assert passes[-1] == "choose_algorithms"


def test_products_of_bf16_are_fewer_only_where_tiles_of_f32_are_faster() -> None:
    assert chosen(network(), budget=2e-5, direct="bf16")[0] == "winograd4"
    assert chosen(network())[0] == "winograd2"
    assert chosen(network(), direct="bf16")[0] == "direct"


def test_matrix_tiles_make_direct_sums_faster_than_fewer_products() -> None:
    assert chosen(network(), budget=2e-5, direct="bf16_tiles")[0] == "direct"
    cost = {d: Shape(1, 128, 128, 14, 14, d).direct for d in get_args(Products)}
    assert cost["bf16_tiles"] < cost["parts"] < cost["f32"]
    # Operands with few channels are not split into parts.
    assert Shape(1, 128, 32, 14, 14, "parts").direct == Shape(1, 128, 32, 14, 14).direct
    program = compiler.compile(tall_network(), precision="bf16", verify=True)
    convs = [n for n in all_nodes(program.graph) if n.op == "conv"]
    assert [n.attrs["algorithm"] for n in convs] == ["direct", "winograd4"]
    tiled = program.graph.producers[program.graph.results[0].value]
    kept = [t.dtype for i in tiled.inputs if isinstance(t := program.graph.types[i], TensorType)]
    assert DType.bf16 in kept  # its image
    assert DType.f32 in kept  # its weights


def test_tiles_of_an_image_of_bf16_are_those_of_the_same_numbers() -> None:
    g = tall_network()
    x = {"x": np.random.default_rng(3).standard_normal((1, 32, 30, 28)).astype(np.float32)}
    (expected,) = compiler.reference(g, x).values()
    (found,) = compiler.compile(g, precision="bf16").run(x).values()
    assert np.abs(found - expected).max() < 2**-6 * np.abs(expected).max()


def test_a_pipeline_without_the_pass_gets_it_for_fast() -> None:
    program = compiler.compile(
        small_network(), pipeline="fuse,assign_layout", precision="fast", verify=True
    )
    assert [n.attrs["algorithm"] for n in all_nodes(program.graph) if n.op == "conv"] == [
        "direct",
        "winograd4",
    ]
    plain = compiler.compile(small_network(), pipeline="default,-choose_algorithms")
    assert {n.attrs["algorithm"] for n in all_nodes(plain.graph) if n.op == "conv"} == {"direct"}


def test_the_way_to_onnx_forgets_how_it_was_computed() -> None:
    g, _ = run_pipeline(small_network(), "default")
    model = compiler.to_onnx(g)
    assert model == compiler.to_onnx(run_pipeline(small_network(), "default,-choose_algorithms")[0])
