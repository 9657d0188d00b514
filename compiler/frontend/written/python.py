"""Models in a subset of Python, which this module interprets; Python never executes it.

The interpreter walks the syntax tree over its own values: numbers, lists and symbolic tensors. No
value in the interpreter gives access to the running process.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import compiler.ops
from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where, require
from compiler.frontend.tracing.model import results_of
from compiler.frontend.tracing.tensor import Tensor
from compiler.frontend.tracing.tracing import Tracing, shown
from compiler.frontend.written.expressions import Expressions, Function, Scope, is_known
from compiler.frontend.written.text import Line, WritingLimits, Written
from compiler.ir.graph import Graph
from compiler.ir.types import Type, parse_type

assert compiler.ops.__doc__, "importing the operators registers them"


def read_python(text: str, source: str = "python", limits: WritingLimits | None = None) -> Written:
    """Read a model: the last function whose parameters all have types, such as `x: f32[N, 64]`.

    The model may call other functions of the text, which may use names of the enclosing scope.
    """
    reading = _Reading(text, source, limits or WritingLimits())
    try:
        graph = reading.read()
    except CompileError as e:
        problem = e if e.where.line else e.at(Where(source, 1, 1, 1))
        return Written(None, (problem,), reading.lines())
    return Written(graph, (), reading.lines())


@dataclass
class _Returned:
    value: Any


class _Reading(Expressions):
    """The interpreter of one text: it runs statements; its base class evaluates expressions."""

    def __init__(self, text: str, source: str, limits: WritingLimits) -> None:
        super().__init__(text, source, limits)
        self.iterations = 0
        self.found: dict[int, Line] = {}

    def read(self) -> Graph:
        """Read the graph.

        Errors: E-TEXT-SYNTAX, E-WRITE-*, and errors of operators, all with positions in the text.
        """
        self.limits.check_text(self.text)
        body = self.parsed().body
        functions = [s for s in body if isinstance(s, ast.FunctionDef)]
        models = [f for f in functions if f.args.args and all(a.annotation for a in f.args.args)]
        if not models:
            raise CompileError(
                "E-WRITE-PYTHON",
                "the text has no model: a function whose parameters all have types",
                where=self.place(functions[-1]) if functions else None,
                hint="begin with def model(x: f32[N, 64]):",
            )
        chosen = models[-1]
        self.tracing = Tracing(chosen.name, self.limits.tracing)
        scope: dict[str, Any] = {}
        if self.run(body, scope) is not None:
            raise CompileError("E-WRITE-PYTHON", "`return` outside a function")
        model = self.function(chosen, scope)
        arguments = [self.at(a, lambda a=a: self.parameter(a)) for a in chosen.args.args]
        returned = self.at(chosen, lambda: self.call_function(model, arguments, {}))
        return self.at(chosen, lambda: self.tracing.graph(results_of(self.tracing, returned)))

    def parsed(self) -> ast.Module:
        """Parse a text to a syntax tree.

        Errors: E-TEXT-SYNTAX, at the position that Python reports.
        """
        try:
            return ast.parse(self.text, self.source)
        except SyntaxError as e:
            line, column = e.lineno or 1, e.offset or 1
            length = (e.end_offset or 0) - column if e.end_lineno == line else 1
            where = Where(self.source, line, max(column, 1), max(length, 1))
            hint = "written models follow Python's grammar"
            raise CompileError("E-TEXT-SYNTAX", str(e.msg), where=where, hint=hint) from None
        except (RecursionError, MemoryError, ValueError, OverflowError) as e:
            message = f"the text cannot be read: {str(e) or 'it is nested too deeply'}"
            raise CompileError("E-TEXT-SYNTAX", message) from None

    def parameter(self, a: ast.arg) -> Tensor:
        """Add an input of the model. Errors: E-TEXT-SYNTAX for an invalid type, E-GRAPH-NAME."""
        assert a.annotation is not None, "all parameters of the model have types"
        return self.tracing.input(a.arg, self.at(a.annotation, lambda: self.type_of(a.annotation)))

    def type_of(self, written: ast.expr | None) -> Type:
        """Parse a type annotation, quoted or not."""
        if isinstance(written, ast.Constant) and isinstance(written.value, str):
            return parse_type(written.value)
        assert written is not None
        try:
            return parse_type(ast.unparse(written).replace("(", "").replace(")", ""))
        except RecursionError:
            raise CompileError("E-TEXT-SYNTAX", "a type is nested too deeply") from None

    # Statements.

    def run(self, body: Sequence[ast.stmt], scope: dict[str, Any]) -> _Returned | None:
        """Run statements in order; return the result of an executed `return`."""
        for statement in body:
            returned = self.at(statement, lambda s=statement: self.statement(s, scope))
            if returned is not None:
                return returned
        return None

    def statement(self, s: ast.stmt, scope: dict[str, Any]) -> _Returned | None:
        self.iterations += 1
        message = f"more than {self.limits.iterations:,} statements would run"
        require(self.iterations <= self.limits.iterations, "E-WRITE-LIMIT", message)
        match s:
            case ast.Assign(targets=targets, value=value):
                made = self.value(value, scope)
                for target in targets:
                    self.assign(target, made, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                old = self.value(ast.copy_location(ast.Name(name, ast.Load()), target), scope)
                made = self.at(s, lambda: self.binary(op, old, self.value(value, scope), s))
                self.assign(target, made, scope)
            case ast.Return(value=value):
                return _Returned(None if value is None else self.value(value, scope))
            case ast.For(target=target, iter=series, body=body, orelse=[]):
                return self.loop(target, self.series(series, scope), body, scope)
            case ast.If(test=test, body=body, orelse=otherwise):
                return self.run(body if self.truth(test, scope) else otherwise, scope)
            case ast.FunctionDef():
                scope[s.name] = self.function(s, scope)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.value(value, scope)
            case _:
                raise self.unavailable(s)
        return None

    def assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Tensor):
                    self.tracing.rename(value, name)
                    self.found[target.lineno] = Line(target.lineno, name, value.type)
                scope[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                several = list(value) if isinstance(value, list | tuple) else None
                if several is None or len(several) != len(parts):
                    found = f"{len(several)} values" if several is not None else shown(value)
                    message = f"cannot assign {found} to {len(parts)} names"
                    raise CompileError("E-WRITE-VALUE", message, where=self.place(target))
                for part, each in zip(parts, several, strict=True):
                    self.assign(part, each, scope)
            case _:
                raise self.unavailable(target, "this target of an assignment")

    def loop(
        self, target: ast.expr, series: Sequence[Any], body: list[ast.stmt], scope: dict[str, Any]
    ) -> _Returned | None:
        for each in series:
            self.assign(target, each, scope)
            returned = self.run(body, scope)
            if returned is not None:
                return returned
        return None

    def function(self, s: ast.FunctionDef, scope: dict[str, Any]) -> Function:
        plain = not (s.args.vararg or s.args.kwarg or s.args.posonlyargs or s.decorator_list)
        if not plain:
            raise self.unavailable(s, "a decorator, *args or **kwargs")
        defaults = [self.value(d, scope) for d in s.args.defaults]
        names = [a.arg for a in s.args.args]
        given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        for a, d in zip(s.args.kwonlyargs, s.args.kw_defaults, strict=True):
            if d is not None:
                given[a.arg] = self.value(d, scope)
        only = tuple(a.arg for a in s.args.kwonlyargs)
        return Function(s.name, tuple(names), only, given, tuple(s.body), scope)

    def call_function(self, f: Function, operands: Sequence[Any], options: dict[str, Any]) -> Any:
        """Call a function of the text. Errors: E-WRITE-VALUE, E-WRITE-LIMIT."""
        most = f"calls are nested more than {self.limits.calls} deep"
        require(self.depth < self.limits.calls, "E-WRITE-LIMIT", most)
        scope = {**f.outer, **f.bound(operands, options)}
        self.depth += 1
        returned = self.run(f.body, scope)
        self.depth -= 1
        return None if returned is None else returned.value

    def truth(self, test: ast.expr, scope: Scope) -> bool:
        """Evaluate a condition known while the model is read. Errors: E-WRITE-VALUE."""
        value = self.value(test, scope)
        if not is_known(value):
            raise CompileError(
                "E-WRITE-VALUE",
                f"the truth value of {shown(value)} is known only when the model runs",
                where=self.place(test),
                hint="choose between tensors with where(condition, a, b)",
            )
        return bool(value)

    def lines(self) -> tuple[Line, ...]:
        """Return the tensors that lines of the text define, in order of lines."""
        return tuple(self.found[n] for n in sorted(self.found))
