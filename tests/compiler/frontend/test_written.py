"""Tests of written models: graphs, and errors at the right characters of any text."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.frontend.written import (
    MOST_NOTES,
    PAGE_LIMITS,
    Written,
    graph_of,
    language_of,
    read_ir,
    read_python,
)

MLP = '''"""Two layers."""
WIDTHS = [32, 10]

def layer(x, width, seed=0):
    w = weight([x.shape[-1], width], seed=seed)
    return x @ w + zeros([width])

def mlp(x: f32[N, 64]):
    h = x
    for i in range(2):
        h = layer(h, WIDTHS[i], seed=i)
        if i < 1:
            h = relu(h)
    h /= sqrt(16)
    return {"p": softmax(h, axis=-1), "best": h.argmax(axis=1)}
'''

IR = """graph mlp(x: f32[N,4]) {
  const w: f32[4,6] = seeded(3, 0.5)
  h = matmul(x, w)
  a, b: f32[N,4] = split(h, axis=1, sizes=[2,4])
  return a, second=b
}
"""


def test_python_and_ir_give_graphs() -> None:
    written = read_python(MLP, limits=PAGE_LIMITS)
    assert written.problems == ()
    assert written.graph is not None
    assert [r.name for r in written.graph.results] == ["p", "best"]
    assert compiler.parse(str(written.graph)) == written.graph
    assert [(line.line, line.name, str(line.type)) for line in written.lines] == [
        (5, "w", "f32[32,10]"),
        (9, "h", "f32[N,64]"),
        (11, "h", "f32[N,10]"),
        (13, "h", "f32[N,32]"),
        (14, "h", "f32[N,10]"),
    ]
    read = read_ir(IR, limits=PAGE_LIMITS)
    assert read.graph is not None
    assert compiler.parse(str(read.graph)) == read.graph
    assert ("h", "f32[N,6]") in [(line.name, str(line.type)) for line in read.lines]


def test_the_text_of_a_python_model_is_an_ir_model() -> None:
    graph = read_python(MLP).graph
    again = read_ir(str(graph)).graph
    assert again == graph
    x = np.random.default_rng(0).standard_normal((3, 64), np.float32)
    a, b = compiler.reference(graph, {"x": x}), compiler.compile(again).run({"x": x})
    np.testing.assert_allclose(a["p"], b["p"], rtol=1e-5)


def test_files_are_read_by_their_endings(tmp_path: Path) -> None:
    python, ir = tmp_path / "m.py", tmp_path / "m.IR"
    python.write_text(MLP)
    ir.write_text(IR)
    assert compiler.load(python) == read_python(MLP).graph
    assert compiler.load(ir) == read_ir(IR).graph
    assert compiler.compile(str(ir)).run({"x": np.ones((2, 4), np.float32)})["a"].shape == (2, 2)
    python.write_text("def m(x: f32[2]):\n    return y")
    with pytest.raises(CompileError) as caught:
        compiler.load(python)
    assert str(caught.value.where) == "m.py:2:12"
    python.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CompileError, match="E-TEXT-SYNTAX"):
        compiler.load(python)
    names = ("a.py", "b.IR", "c.onnx", "py", "d.")
    assert [language_of(n) for n in names] == [
        "py",
        "ir",
        "",
        "",
        "",
    ]


def marked(text: str) -> tuple[str, tuple[int, int, int]]:
    """Check a text in which « and » enclose the expected position of the error."""
    before, _, rest = text.partition("«")
    inside, _, after = rest.partition("»")
    line = before.count("\n") + 1
    column = len(before.rpartition("\n")[2]) + 1
    return before + inside + after, (line, column, len(inside))


def place_of(written: Written) -> tuple[int, int, int]:
    where = written.problems[0].where
    return where.line, where.column, where.length


PYTHON = [
    ("E-GRAPH-NAME", "return «rleu»(x)"),
    ("E-GRAPH-NAME", "größe = x + 1; return größe * «naïve»"),
    ("E-OP-SHAPE", "return «x @ x»"),
    ("E-OP-SHAPE", "return relu(«x @ x»)"),
    ("E-OP-OPERANDS", "return «matmul»(x)"),
    ("E-OP-ATTRIBUTE", "return softmax(x, «axis='a'»)"),
    ("E-OP-ATTRIBUTE", "return x.softmax(«axs=1»)"),
    ("E-OP-ATTRIBUTE", "return conv(x, x, «strides=1», pads=[1], dilations=[1])"),
    ("E-OP-ATTRIBUTE", "return transpose(x, «perm=[0, 'a']»)"),
    ("E-OP-ATTRIBUTE", "return cast(x, «to='f16'»)"),
    ("E-OP-AXIS", "return «softmax»(x, axis=5)"),
    ("E-OP-AXIS", "return «x[0, 0, 0]»"),
    ("E-WRITE-VALUE", "return «x.__class__»"),
    ("E-WRITE-VALUE", "return «softmax.reference_fn»"),
    ("E-WRITE-VALUE", "return «x.tracing»"),
    ("E-WRITE-VALUE", "return «'a'.format»(x)"),
    ("E-WRITE-VALUE", "return «x[0:1.5]»"),
    ("E-WRITE-VALUE", "return «x[9]»"),
    ("E-WRITE-VALUE", "return 1 + «10 ** 10 ** 10»"),
    ("E-WRITE-VALUE", "return «2 ** 62 * 4»"),
    ("E-WRITE-VALUE", "return «1 / 0»"),
    ("E-WRITE-VALUE", "return «(-8) ** 0.5»"),
    ("E-WRITE-VALUE", "return «'a' * 1000»"),
    ("E-WRITE-VALUE", "if «x > 0»:\n        return x\n    return -x"),
    ("E-WRITE-VALUE", "for i in «x»:\n        x = x + i\n    return x"),
    ("E-WRITE-VALUE", "«a, b» = x\n    return a"),
    ("E-WRITE-VALUE", "return «weight»('a')"),
    ("E-WRITE-VALUE", "return «weight»([2], seed=-1)"),
    ("E-WRITE-VALUE", "return «full»([2], 10 ** 10, dtype=i8)"),
    ("E-WRITE-VALUE", "return «constant»([[1], [1, 2]])"),
    ("E-WRITE-VALUE", "return «zeros»([2], dtype=string)"),
    ("E-WRITE-PYTHON", "«import os»\n    return x"),
    ("E-WRITE-PYTHON", "return «lambda y: y»"),
    ("E-WRITE-PYTHON", "return «[y for y in [1]]»"),
    ("E-WRITE-PYTHON", "return «f'{x}'»"),
    ("E-WRITE-PYTHON", "«while True: pass»"),
    ("E-WRITE-PYTHON", "«x.shape» = 3"),
    ("E-WRITE-PYTHON", "return relu(**«{}»)"),
    ("E-WRITE-PYTHON", "return x + «5j»"),
    ("E-WRITE-PYTHON", "return «x // 2»"),
    ("E-WRITE-LIMIT", "for i in «range»(10 ** 15):\n        x = x + 1\n    return x"),
    ("E-WRITE-LIMIT", "a = «[0] * 100000»\n    return x"),
    ("E-WRITE-LIMIT", "return «weight»([100000, 100000])"),
    ("E-WRITE-LIMIT", "return «m»(x)"),
    ("E-TEXT-SYNTAX", "return «(»x"),
]


@pytest.mark.parametrize(("code", "body"), PYTHON, ids=[b.replace("\n", " ") for _, b in PYTHON])
def test_a_problem_of_python_stands_under_its_characters(code: str, body: str) -> None:
    text, place = marked(f"def m(x: f32[2,3]):\n    {body}\n")
    written = read_python(text, limits=PAGE_LIMITS)
    assert written.graph is None
    assert (written.problems[0].code, place_of(written)) == (code, place), written.problems[0]
    assert written.problems[0].hint


HEADS = [
    ("E-WRITE-PYTHON", "x = 1"),
    ("E-WRITE-PYTHON", "def m(x):\n    return x"),
    ("E-TEXT-SYNTAX", "\x00"),
    ("E-TEXT-SYNTAX", "def m(x: f32[2**99]):\n    return x"),
    ("E-TEXT-SYNTAX", "def m(x: " + "a[" * 3000 + "1" + "]" * 3000 + "): return x"),
    ("E-OP-SHAPE", "def m(x: f32[" + "9" * 4000 + "]):\n    return x"),
    ("E-TEXT-SYNTAX", "def m(x: f32[" + "9" * 5000 + "]):\n    return x"),
    ("E-TEXT-SYNTAX", "def m(x: open('/etc/passwd')):\n    return x"),
    ("E-OP-SHAPE", "def m(x: f32[-1]):\n    return x"),
    ("E-WRITE-LIMIT", "x" * 20_001),
    ("E-WRITE-PYTHON", "@m\ndef m(x: f32[2]):\n    return x"),
    (
        "E-WRITE-LIMIT",
        "def m(x: f32[2]):\n"
        + "    x = relu(x)\n" * 700 * 1
        + "    for i in range(2000):\n        x = relu(x)\n    return x",
    ),
    (
        "E-WRITE-LIMIT",
        "def m(x: f32[2]):\n    for i in range(200):\n        for j in range(200):\n"
        "            a = 1\n    return x",
    ),
]


@pytest.mark.parametrize(("code", "text"), HEADS, ids=[t[:30] for _, t in HEADS])
def test_a_text_that_is_no_model_is_refused(code: str, text: str) -> None:
    written = read_python(text, limits=PAGE_LIMITS)
    assert written.problems[0].code == code, written.problems[0]
    assert written.problems[0].where.line >= 1


@pytest.mark.parametrize(
    "deep", ["-" * 8000 + "x", "(" * 8000 + "x" + ")" * 8000, "x" + "+x" * 8000]
)
def test_deep_nesting_is_refused(deep: str) -> None:
    written = read_python(f"def m(x: f32[2]):\n    return {deep}", limits=PAGE_LIMITS)
    assert written.problems[0].code in ("E-TEXT-SYNTAX", "E-WRITE-LIMIT")


LINES = [
    (
        "E-WRITE-LIMIT",
        "a = [1] * 64\n    b = [a] * 64\n    c = [b] * 64\n    return x + constant(c)",
        3,
    ),
    ("E-WRITE-LIMIT", "a = [1] * 64\n    return x.transpose(perm=[a, a] * 64)", 3),
    ("E-WRITE-LIMIT", "a = []\n    for i in range(5000):\n        a = [a]\n    return x", 4),
    ("E-WRITE-VALUE", "return x, 1", 1),
    ("E-WRITE-VALUE", "return constant([300], dtype=i8)", 2),
    ("E-WRITE-VALUE", "return constant([1.5], dtype=u8)", 2),
    ("E-WRITE-VALUE", "return constant([2 ** 63])", 2),
    ("E-WRITE-VALUE", "return constant([1e999], dtype=i32)", 2),
    ("E-WRITE-VALUE", "return x.cast(to=u8) - (-1)", 2),
]


@pytest.mark.parametrize(("code", "body", "line"), LINES, ids=[b for _, b, _ in LINES])
def test_what_no_model_holds_is_refused_in_its_line(code: str, body: str, line: int) -> None:
    written = read_python(f"def m(x: f32[2]):\n    {body}\n", limits=PAGE_LIMITS)
    problem = written.problems[0]
    assert (problem.code, problem.where.line) == (code, line), problem


def test_infinity_may_be_negative() -> None:
    graph = graph_of("def m(x: f32[2]):\n    return max(x, -1e999)\n", "py", "t")
    assert np.isneginf(next(iter(graph.constants.values())).array())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(end: str) -> None:
    written = read_python(f"def m(x: f32[2]):{end}    return é + yy{end}", limits=PAGE_LIMITS)
    where = written.problems[0].where
    assert (where.line, where.column, where.length) == (2, 12, 1)


@pytest.mark.parametrize("after", ["m = 3\n", "def m(y):\n    return y + y\n"])
def test_the_model_stays_the_model_when_its_name_is_taken(after: str) -> None:
    graph = graph_of(f"def m(x: f32[2]):\n    return relu(x)\n{after}", "py", "t")
    assert [n.op for n in graph.nodes] == ["relu"]


def test_a_return_outside_of_functions_is_refused() -> None:
    written = read_python("return 3\ndef m(x: f32[2]):\n    return x\n", limits=PAGE_LIMITS)
    assert written.problems[0].code == "E-WRITE-PYTHON"


@pytest.mark.parametrize("opset", ['"a"', "[1]", "0", "99999999999"])
def test_a_version_of_operators_is_a_small_number(opset: str) -> None:
    written = read_ir(f"graph m(x: f32[4]) {{\n  y = onnx.Foo(x, opset={opset})\n  return y\n}}")
    problem = written.problems[0]
    assert (problem.code, problem.where.line) == ("E-OP-ATTRIBUTE", 2)


def test_constants_of_regions_count() -> None:
    branch = "graph a() {\n const k: f32[99999999999] = splat(0.0)\n return k\n}"
    text = f"graph m(c: bool[]) {{ y = onnx.If(c) {{ then_branch: {branch} else_branch: {branch} }}"
    written = read_ir(f"{text}\n return y }}", limits=PAGE_LIMITS)
    assert written.problems[0].code == "E-WRITE-LIMIT"


IRS = [
    ("E-TEXT-OPERATOR", "y = «rleu»(x)"),
    ("E-GRAPH-NAME", "y = add(x, «xx»)"),
    ("E-GRAPH-NAME", "«x» = relu(x)\n  y = relu(x)"),
    ("E-OP-SHAPE", "y = «matmul»(x, x)"),
    ("E-GRAPH-TYPE", "y: «f32[2,4]» = relu(x)"),
    ("E-OP-ATTRIBUTE", 'y = «softmax»(x, axis="a")'),
    ("E-OP-ATTRIBUTE", "y = «softmax»(x, axs=1)"),
    ("E-OP-OPERANDS", "y = «matmul»(x)"),
    ("E-OP-OPERANDS", "y, z = «relu»(x)"),
    ("E-TEXT-SYNTAX", "y = relu(x«;» "),
    ("E-TEXT-SYNTAX", "y = relu «x»"),
]


@pytest.mark.parametrize(("code", "body"), IRS, ids=[b for _, b in IRS])
def test_a_problem_of_ir_stands_under_its_characters(code: str, body: str) -> None:
    text, place = marked(f"graph m(x: f32[2,3]) {{\n  {body}\n  return y\n}}\n")
    written = read_ir(text, limits=PAGE_LIMITS)
    assert written.graph is None
    found = place_of(written)
    assert (written.problems[0].code, found[:2]) == (code, place[:2]), written.problems[0]
    assert code == "E-TEXT-SYNTAX" or found[2] == place[2]


def test_every_problem_of_an_ir_text_is_told_once() -> None:
    written = read_ir(
        "graph m(x: f32[2,3]) {\n  a = matmul(x, x)\n  b = relu(a)\n  c = softmax(x, axis=7)\n"
        "  return b, d\n}"
    )
    assert [(p.code, p.where.line) for p in written.problems] == [
        ("E-OP-SHAPE", 2),
        ("E-OP-AXIS", 4),
        ("E-GRAPH-NAME", 5),
    ]


def test_the_error_of_a_file_names_its_other_problems(tmp_path: Path) -> None:
    path = tmp_path / "m.ir"
    lines = [f"  v{i} = relu(w{i})\n" for i in range(MOST_NOTES + 3)]
    for n, expected in ((3, 2), (MOST_NOTES + 3, MOST_NOTES + 1)):
        path.write_text(f"graph m(x: f32[2]) {{\n{''.join(lines[:n])}  return x\n}}")
        with pytest.raises(CompileError, match="'w0' is used") as caught:
            compiler.load(path)
        assert str(caught.value.where) == "m.ir:2:13"
        assert len(caught.value.notes) == expected
        note = "m.ir:3:13: E-GRAPH-NAME: 'w1' is used before it is defined"
        assert caught.value.notes[0] == note
    assert caught.value.notes[-1] == "2 further errors are not shown"


ALPHABET = [
    *"()[]{}:,.=+-*/@<>\"' \n#~0123456789",
    "x", "h", "é", "None", "True", "f32", "i64", "range", "weight", "softmax", "split", "reshape",
    "slice", "axis=", "shape", "return ", "for i in ", "if ", "def ", "-1", "1e999", "onnx.Conv",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_broken_texts_give_problems_and_nothing_else(seed: int) -> None:
    chance = random.Random(seed)
    for text, read in ((MLP, read_python), (IR, read_ir)):
        for _ in range(150):
            broken = text
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(len(broken))
                cut = at + chance.choice((0, 1, 5))
                broken = broken[:at] + chance.choice(ALPHABET) + broken[cut:]
            written = read(broken, "t", PAGE_LIMITS)
            assert (written.graph is None) == bool(written.problems)
            for p in written.problems:
                assert p.where.line >= 1
                assert p.where.column >= 1
