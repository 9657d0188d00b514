"""The cases that `onnx.backend.test` publishes: models, inputs, and expected outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from compiler.dataclass import dataclass
from compiler.frontend.functions import normal_domain
from compiler.frontend.order import subgraphs
from compiler.ops.evaluation.corrections import corrected_evaluator, is_corrected_case

SUITES = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")

RANDOM_OPERATORS = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators whose results are random even with a seed: the standard fixes no generator."""

DataSet = tuple[Sequence[Any], Sequence[Any]]
"""Inputs and expected outputs by position: each is an array, a list of arrays, or None if
absent."""


@dataclass(frozen=True)
class Case:
    """One case of a suite; `read` reads the files of the data sets and returns the data sets."""

    suite: str
    name: str
    model: onnx.ModelProto
    read: Callable[[], Sequence[DataSet]]
    rtol: float
    atol: float

    @property
    def operators(self) -> tuple[str, ...]:
        """Return the sorted ONNX operators of the model, including its functions and subgraphs."""
        local = {(f.domain, f.name) for f in self.model.functions}
        bodies = [self.model.graph.node, *(f.node for f in self.model.functions)]
        nodes = (n for body in bodies for n in _all_nodes(body))
        return tuple(
            sorted({_label(n) for n in nodes if (n.domain, n.op_type) not in local}, key=_by_domain)
        )

    @property
    def is_random(self) -> bool:
        """Return whether the expected outputs are random."""
        return not RANDOM_OPERATORS.isdisjoint(self.operators)

    def feeds(self, inputs: Sequence[Any]) -> Mapping[str, Any]:
        """Return a data set's inputs by name, without weights that old models declare as inputs."""
        weights = {t.name for t in self.model.graph.initializer}
        names = [v.name for v in self.model.graph.input if v.name not in weights]
        return dict(zip(names, inputs, strict=True))


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for body in subgraphs(node):
            yield from _all_nodes(body.node)


def _label(node: onnx.NodeProto) -> str:
    domain = normal_domain(node.domain)
    return f"{domain}.{node.op_type}" if domain else node.op_type


def _by_domain(operator: str) -> tuple[str, str]:
    domain, _, name = operator.rpartition(".")
    return domain, name


@cache
def collect(suite: str) -> tuple[Case, ...]:
    """Return the cases of one suite, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite's data generators overflow and divide by zero
        found = _of_nodes() if suite == "node" else _of_files(suite)
    return tuple(sorted(found, key=lambda c: c.name))


def _of_nodes() -> list[Case]:
    from onnx.backend.test.case.node import collect_testcases

    return [
        _corrected(Case("node", c.name, c.model, partial(_plain_sets, c.data_sets), c.rtol, c.atol))
        for c in collect_testcases(None)
        if c.model is not None and c.data_sets is not None
    ]


def _corrected(case: Case) -> Case:
    """Replace wrong published outputs of a case with outputs of the corrected onnx.reference."""
    if not is_corrected_case(case.name):
        return case
    return replace(case, read=lambda: [(given, _expected(case, given)) for given, _ in case.read()])


def _expected(case: Case, inputs: Sequence[Any]) -> list[Any]:
    return list(corrected_evaluator(case.model).run(None, dict(case.feeds(inputs))))


def _plain_sets(sets: Iterable[DataSet]) -> list[DataSet]:
    return [([plain(v) for v in given], [plain(v) for v in needed]) for given, needed in sets]


def plain(value: Any) -> Any:
    """Convert protobuf messages and strings to arrays, the form of program outputs."""
    if isinstance(value, onnx.TensorProto):
        return plain(numpy_helper.to_array(value))
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None:
        return None
    array = np.asarray(value)
    return array.astype(np.object_) if array.dtype.kind in "US" else array


def _of_files(suite: str) -> list[Case]:
    from onnx.backend.test.loader import load_model_tests

    # The package calls the folder `real`; the models without weights are in `light`.
    tests = load_model_tests(kind="real" if suite == "light" else suite)
    return [_light(t) if suite == "light" else _in_folder(suite, t) for t in tests]


def _in_folder(suite: str, test: Any) -> Case:
    folder = Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    return Case(suite, test.name, model, lambda: _read_sets(folder, model), test.rtol, test.atol)


def _read_sets(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    return [
        (
            _read_values(data, "input", [v.type for v in model.graph.input]),
            _read_values(data, "output", [v.type for v in model.graph.output]),
        )
        for data in sorted(folder.glob("test_data_set*"))
    ]


def _read_values(folder: Path, kind: str, types: Sequence[onnx.TypeProto]) -> list[Any]:
    n_values = len(list(folder.glob(f"{kind}_*.pb")))
    return [read_value(folder / f"{kind}_{i}.pb", types[i]) for i in range(n_values)]


def read_value(path: Path, needed: onnx.TypeProto) -> Any:
    """Read a data file of the package: a tensor, a sequence or an optional, as the type states."""
    data = path.read_bytes()
    if needed.HasField("sequence_type"):
        return plain(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
    if needed.HasField("optional_type"):
        return plain(numpy_helper.to_optional(onnx.OptionalProto.FromString(data)))
    return plain(onnx.TensorProto.FromString(data))


def _light(test: Any) -> Case:
    # A light model's URL is its path in the repository of onnx, which equals its path in the
    # package.
    path = Path(onnx.__file__).parent.parent.joinpath(*test.url.split("/"))
    model = onnx.load(path)
    return Case("light", test.name, model, lambda: _light_sets(path, model), test.rtol, test.atol)


def _light_sets(path: Path, model: onnx.ModelProto) -> list[DataSet]:
    """Return the input that the runner of onnx generates, and the stored output."""
    from onnx.backend.test.runner import Runner

    weights = {t.name for t in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(v) for v in model.graph.input if v.name not in weights]
    outputs = [
        read_value(path.with_name(f"{path.stem}_output_{i}.pb"), v.type)
        for i, v in enumerate(model.graph.output)
    ]
    return [(inputs, outputs)]
