"""The exception for errors that a user's input can cause, and the table of its codes.

Any other exception that escapes from the compiler is a bug in the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """A position in the user's input: a file, a line of text, or a node of a model."""

    source: str = ""
    line: int = 0
    column: int = 0
    length: int = 0
    node: str = ""

    def __str__(self) -> str:
        place = self.source
        if self.line:
            place += f":{self.line}:{self.column}"
        if self.node:
            place += f"{' ' if place else ''}node {self.node!r}"
        return place


class CompileError(Exception):
    """An error in the user's input: the requirement, the finding, the position, and a remedy.

    Units: `line` and `column` of `where` count from 1; 0 means unknown.
    Errors: the code must be in `CODES`; a test looks up each code raised in the source.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Where | None = None,
        notes: Sequence[str] = (),
        hint: str = "",
    ) -> None:
        assert code in CODES, f"error code {code} is not in the table of compiler/errors.py"
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.where = where or Where()
        self.notes = tuple(notes)
        self.hint = hint or CODES[code].hint

    def at(self, where: Where) -> CompileError:
        """Return the same error with this position, unless the error already has a position."""
        return self if str(self.where) else self.moved_to(where)

    def moved_to(self, where: Where) -> CompileError:
        """Return a copy of the error with this position."""
        return CompileError(self.code, self.message, where=where, notes=self.notes, hint=self.hint)

    def noting(self, note: str) -> CompileError:
        """Return a copy of the error with this note; an error with a note stays unchanged.

        If `note` is "", the error also stays unchanged.
        """
        if self.notes or not note:
            return self
        return CompileError(self.code, self.message, where=self.where, notes=[note], hint=self.hint)

    def to_json(self) -> dict[str, Any]:
        """Return the error as the data that the command line and the page show."""
        return {
            "code": self.code,
            "message": self.message,
            "where": {
                "source": self.where.source,
                "line": self.where.line,
                "column": self.where.column,
                "length": self.where.length,
                "node": self.where.node,
            },
            "notes": list(self.notes),
            "hint": self.hint,
        }

    def __str__(self) -> str:
        place = f"{self.where}: " if str(self.where) else ""
        lines = [f"{place}{self.code}: {self.message}", *self.notes]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, self.where, self.notes, self.hint)


def _rebuild(
    code: str, message: str, where: Where, notes: tuple[str, ...], hint: str
) -> CompileError:
    return CompileError(code, message, where=where, notes=notes, hint=hint)


def require(condition: bool, code: str, message: str, **rest: Any) -> None:
    """Raise the error unless the condition holds."""
    if not condition:
        raise CompileError(code, message, **rest)


@dataclass(frozen=True, slots=True)
class Code:
    """The meaning and the default hint of an error code."""

    meaning: str
    hint: str


# A code is E-WHERE-WHAT. The rows follow the stages of a compilation.
CODES: dict[str, Code] = {
    # reading a model
    "E-MODEL-FILE": Code(
        "The file could not be opened or read.", "check the path and its permissions"
    ),
    "E-MODEL-EMPTY": Code("The file is empty.", "export the model again"),
    "E-MODEL-PROTOBUF": Code(
        "The bytes are not an ONNX protobuf message, or end too early.",
        "export the model again as binary .onnx, and check that it was copied completely",
    ),
    "E-MODEL-INVALID": Code(
        "The message is ONNX, but breaks a rule of the ONNX format.",
        "check the model with onnx.checker.check_model, and export it again",
    ),
    "E-MODEL-SIZE": Code(
        "The model exceeds a limit on bytes, nodes, nesting, elements or names.",
        "use a smaller model, or raise the limit when you run your own server",
    ),
    "E-MODEL-OPSET": Code(
        "The model requires an operator set that the installed onnx package cannot read.",
        "convert the model with onnx.version_converter, or update the onnx package",
    ),
    "E-MODEL-CYCLE": Code(
        "The nodes of the graph depend on each other in a cycle.",
        "remove the cycle; loops are written with Loop or Scan",
    ),
    "E-MODEL-NAME": Code(
        "A name is used before it is defined, or defined twice.",
        "give each value one definition, before its first use",
    ),
    "E-MODEL-EXTERNAL": Code(
        "The model stores weights as external data in another file, which is not read.",
        "save the model with its weights inside: onnx.save_model(model, path)",
    ),
    "E-MODEL-TENSOR": Code(
        "A stored tensor's bytes do not fit its type and shape.",
        "export the model again",
    ),
    "E-MODEL-TYPE": Code(
        "A value has an unknown element type or kind.",
        "use the element types of the ONNX standard",
    ),
    "E-MODEL-ATTRIBUTE": Code(
        "An attribute of a node is missing, unknown or of the wrong kind.",
        "compare the node with its operator's page in the ONNX documentation",
    ),
    "E-MODEL-OPERATOR": Code(
        "This operator name and domain are unknown, and the model has no function for them.",
        "include the operator as a model-local function, or replace it by standard operators",
    ),
    # lessons
    "E-LESSON-FRONT": Code(
        "The front matter of a lesson is missing, or has a missing, unknown or wrong key.",
        "compare the front matter with the table in docs/lessons.md",
    ),
    "E-LESSON-TEXT": Code(
        "A fence, an option or a reference in a lesson does not follow the grammar of lessons.",
        "compare the line with the examples in docs/lessons.md",
    ),
    "E-LESSON-BLOCK": Code(
        "A block of a lesson has an unknown kind, a wrong option, or a body of the wrong form.",
        "compare the block with the description of its kind in docs/lessons.md",
    ),
    "E-LESSON-SIZE": Code(
        "A lesson exceeds a limit on characters, blocks or options.",
        "split the lesson, or shorten the part that the message names",
    ),
    "E-LESSON-RESULT": Code(
        "A block of a lesson has no model, no result, or a result that differs from the text.",
        "run the block alone, and compare its results with the text",
    ),
    "E-LESSON-FOLDER": Code(
        "A folder of lessons lacks a file or a lesson, or its lessons contradict each other.",
        "compare the folder with the structure described in docs/lessons.md",
    ),
    "E-EXERCISE-FORM": Code(
        "The declaration of an exercise has a missing, unknown or wrong key.",
        "compare the declaration with the description of its kind in docs/lessons.md",
    ),
    # answers to exercises
    "E-ANSWER-FORM": Code(
        "An answer to an exercise lacks a file or a name, or has a value of the wrong kind.",
        "begin with the skeleton of the exercise, and keep its names",
    ),
    "E-ANSWER-PYTHON": Code(
        "The Python code of an answer has a syntax error, or raised an exception.",
        "look at the line that the error names",
    ),
    "E-ANSWER-SIZE": Code(
        "An answer exceeds a limit on its length, its nodes or its numbers.",
        "make the answer smaller",
    ),
    # graph text
    "E-TEXT-SYNTAX": Code(
        "The text does not follow the grammar of its IR level.",
        "compare the line with the output of str(graph)",
    ),
    "E-TEXT-OPERATOR": Code(
        "The text names an operator that does not exist.", "check the operator's spelling"
    ),
    "E-TEXT-STORAGE": Code(
        "The text refers to a constant whose bytes are not loaded in this process.",
        "first load the model from which the text was printed",
    ),
    # graph structure and types
    "E-WRITE-PYTHON": Code(
        "A written model uses a Python construct that written models do not support.",
        "use only assignments, loops over range, and calls of operators",
    ),
    "E-WRITE-VALUE": Code(
        "A written model uses a value of the wrong kind.",
        "tensors come from parameters, operators and weight(...)",
    ),
    "E-WRITE-LIMIT": Code(
        "A written model exceeds the size limit of written models.",
        "make the model smaller, or export it as ONNX",
    ),
    "E-GRAPH-NAME": Code(
        "A value is used before it is defined, or defined twice.",
        "give each value one definition, before its first use",
    ),
    "E-GRAPH-TYPE": Code(
        "A recorded type differs from the type that the operator's rule infers.",
        "omit the types, which are then inferred, or correct the operands",
    ),
    "E-NODE-NAME": Code("The model has no node of this name.", "use one of the names in the model"),
    "E-GRAPH-CYCLE": Code("The nodes depend on each other in a cycle.", "remove the cycle"),
    "E-OP-OPERANDS": Code(
        "An operator got too few or too many operands, or operands of an unsupported kind.",
        "compare the call with the operator's signature",
    ),
    "E-OP-ATTRIBUTE": Code(
        "An operator got an attribute that it does not define, or an attribute of the wrong kind.",
        "compare the call with the operator's signature",
    ),
    "E-OP-DTYPE": Code(
        "The element types of the operands do not match.",
        "insert a cast before the node",
    ),
    "E-OP-SHAPE": Code(
        "The shapes of the operands do not match.",
        "the note shows the shapes of the operands",
    ),
    "E-OP-GRADIENT": Code(
        "A gradient is requested through an operator that has no gradient rule.",
        "compute the gradient outside the model, or split off a subgraph without this operator",
    ),
    "E-OP-AXIS": Code(
        "An axis is outside the tensor's rank.", "count axes from 0, or backwards from -1"
    ),
    # compiling
    "E-INPUT-NAME": Code(
        "A name is not an input of the model, or an input of the model is missing.",
        "pass exactly the inputs that the model declares",
    ),
    "E-INPUT-SHAPE": Code(
        "An input's shape differs from the shape that the model or the program expects.",
        "pass the declared shape, with numbers for its open dimensions",
    ),
    "E-INPUT-DTYPE": Code(
        "An input's element type differs from the type that the model declares.",
        "convert the array with array.astype(...)",
    ),
    "E-INPUT-FILE": Code(
        "The file of an input's array could not be read.",
        "save the array with numpy.save(path, array)",
    ),
    "E-SHAPE-OPEN": Code(
        "This step needs numbers for dimensions that the model leaves open.",
        'give the sizes, for example inputs={"x": (1, 3, 224, 224)} or --shape x=1,3,224,224',
    ),
    "E-PIPELINE-SYNTAX": Code(
        "The pipeline's text does not follow its grammar.",
        "write name{option=value},name, for example simplify{until=fixpoint},fuse",
    ),
    "E-PIPELINE-PASS": Code("No pass or preset has this name.", "choose one of the listed names"),
    "E-PIPELINE-OPTION": Code(
        "The pass has no such option, or the option does not accept this value.",
        "use an option of the pass, with a value of the kind that the message names",
    ),
    "E-TARGET-NAME": Code("No target has this name.", "choose one of the listed names"),
    "E-OUTPUT-FILE": Code(
        "A result could not be written.", "check the path, its permissions and the free space"
    ),
    "E-REPRO-FOLDER": Code(
        "The folder to replay does not come from bisect, or a file in it is damaged.",
        "name the folder that bisect wrote (its option -o)",
    ),
    "E-TARGET-RUN": Code(
        "The program was compiled for another machine.",
        'emit the code, or compile with target="host" to run the program here',
    ),
    # writing a model
    "E-EXPORT-OPERATOR": Code(
        "ONNX has no equivalent of a node with these operands.",
        "export before the pass that creates the node, or use a pipeline without that pass",
    ),
    "E-EXPORT-TYPE": Code(
        "An ONNX node does not accept the type of a value.",
        "insert a cast, or compile with a pipeline that keeps the value unchanged",
    ),
    "E-EXPORT-OPSET": Code(
        "A node of an old operator set has no equivalent in the new operator set.",
        "convert the model with onnx.version_converter before it is loaded",
    ),
    "E-EXPORT-NAME": Code(
        "An input and a result of the same name are different values.",
        "rename the input or the result",
    ),
    "E-EXPORT-SIZE": Code(
        "The model's weights exceed the limit of one ONNX file: 2 GB.",
        "export a model with fewer weights, or with a smaller element type",
    ),
    "E-OPTION-VALUE": Code(
        "An option has a value that is not allowed.", "use one of the allowed values"
    ),
    "E-SCHEDULE-TEXT": Code(
        "The text of a schedule does not follow its grammar, or names a move that does not exist.",
        "write one move per line, for example Y: split(i, 16, io, ii)",
    ),
    "E-SCHEDULE-FILE": Code(
        "A file with schedules could not be read.", "create the file with --emit schedules -o FILE"
    ),
    "E-SCHEDULE-NAME": Code(
        "A schedule names a kernel that the program does not have.",
        "emit the schedules of all kernels, and use the name of one kernel",
    ),
    "E-SCHEDULE-MOVE": Code(
        "A schedule move names a missing loop, or is not legal for this kernel.",
        "print the loops with --emit loops, or open the pane Loops; docs/schedules.md has a table "
        "of the moves",
    ),
    "E-TUNE-DATABASE": Code(
        "A database of schedules is damaged, has another format, or cannot be written.",
        "name another file with --database, or move this file: tuning creates a new database",
    ),
    "E-TUNE-MODEL": Code(
        "A model cannot be tuned: a required package is missing, or the model has open sizes.",
        "install the package that the hint names, or give shapes with --shape",
    ),
    "E-PLAN-INPUT": Code(
        "A planning problem has a negative size, an empty lifetime, a repeated id, or pinned "
        "offsets that no plan can satisfy.",
        "correct the row that the message names",
    ),
    "E-PLAN-CAPACITY": Code(
        "The plan needs more bytes than the given capacity.",
        "try --planner best with a longer --time-limit, or give a larger capacity",
    ),
    "E-PLAN-PACKAGE": Code(
        "A planner needs a Python package that is not installed.",
        "install the package that the message names, or choose another planner",
    ),
    "E-PLATFORM-FILE": Code(
        "No platform has this name, and no readable file has this path.",
        "name a built-in platform, or give the path of a TOML file",
    ),
    "E-PLATFORM-TEXT": Code(
        "The text of a platform is incomplete or contradictory.",
        "correct the entry that the message names; docs/placement.md has the format",
    ),
    "E-TASKS-TEXT": Code(
        "The text of tasks, or of their placement, does not follow its grammar.",
        "write one task per line, as docs/placement.md shows",
    ),
    # running
    "E-RUN-OPERATOR": Code(
        "The reference implementation of an operator refused its inputs.",
        "run onnx.reference on the same inputs; random inputs may be outside the model's domain",
    ),
    "E-RUN-ENDLESS": Code(
        "A loop has no trip count, and its condition never changes.",
        "give the loop a trip count, or a body that changes its condition",
    ),
    "E-RUN-MEMORY": Code(
        "The program would exceed its memory limit.",
        "use smaller inputs, or raise the limit",
    ),
    "E-LIMIT-SECONDS": Code(
        "The computation exceeded its time limit.", "use a smaller model, or raise the limit"
    ),
    "E-LIMIT-CODE": Code(
        "A schedule unrolls its innermost statements into more copies than the limit allows.",
        "unroll fewer loops, and choose factors that divide the loops' lengths",
    ),
    "E-LIMIT-MEMORY": Code(
        "The computation exceeded its memory limit.", "use a smaller model, or raise the limit"
    ),
    "E-LIMIT-ARENA": Code(
        "Even with recomputed kernels, the arena is larger than the memory limit.",
        "raise the limit to at least the smallest size in the message",
    ),
    "E-LIMIT-OUTPUT": Code(
        "The computation exceeded the limit on its output data.",
        "use a smaller model, or a pipeline of fewer passes",
    ),
    "E-LIMIT-QUEUE": Code("The queue of waiting jobs is full.", "try again in a few seconds"),
    "E-LIMIT-RATE": Code(
        "Too many requests of this kind came from one client or address.",
        "wait a minute, then try again",
    ),
    "E-LIMIT-CRASH": Code(
        "The child process of the computation ended without a result.",
        "use a smaller model; if the model is small, please report the error",
    ),
    "E-SANDBOX-ABSENT": Code(
        "The server has no sandbox for untrusted models and texts, so it refuses them.",
        "run `compilarium doctor` on the server's machine: it prints the remedy",
    ),
    "E-MACHINE-ABSENT": Code(
        "No machine of the kind that compiled the model is available.",
        "compile the model again",
    ),
    # requests to the playground
    "E-REQUEST-BODY": Code(
        "The body of a request, or a value in its address, does not fit the route.",
        "compare the request with /api/v1/openapi.json",
    ),
    "E-REQUEST-SIZE": Code(
        "The body of a request exceeds the limit of the route.", "send a smaller body"
    ),
    "E-REQUEST-UNKNOWN": Code(
        "The server has no object of this name or id.",
        "the object may have been removed; start again",
    ),
    "E-REQUEST-METHOD": Code(
        "The address does not support this method.", "compare the request with /api/v1/openapi.json"
    ),
    "E-REQUEST-ORIGIN": Code(
        "A page of another site sent the request.", "send requests from the playground's own page"
    ),
    "E-REQUEST-ACCESS": Code(
        "The request is reserved for administrators of the server.",
        "send the token from the server's settings, or send the request from the server's machine",
    ),
    "E-REQUEST-KEY": Code(
        "The header Idempotency-Key is not valid, or was sent with another request.",
        "choose a new random key for each request",
    ),
    "E-REQUEST-BUSY": Code(
        "Another request with the same Idempotency-Key is being answered.",
        "send the request again in a second",
    ),
    "E-RESULT-ABSENT": Code(
        "This part of a job's result is not available, or not available yet.",
        "wait until the job has finished; if its result has been removed, compile again",
    ),
    "E-UPLOAD-SIZE": Code(
        "The file exceeds the size limit of uploads.",
        "start the server with a larger --upload-limit, or use compilarium report",
    ),
    "E-LINK-FULL": Code(
        "The server's storage for links, or for their models, is full.",
        "share the full link or the report: neither needs storage on the server",
    ),
    "E-UPLOAD-DISK": Code(
        "The server has no space left.", "inform the administrator of this server"
    ),
    "E-DATA-DAMAGED": Code(
        "Stored data of the server, or a backup of these data, are damaged.",
        "see the chapter on damaged data in docs/operating.md",
    ),
    "E-DATA-NEWER": Code(
        "The data are of a newer version of the program.",
        "install the newer version, or restore a backup of this version",
    ),
    "E-SERVER-PLATFORM": Code(
        "The server cannot run on this operating system.",
        "use Linux or macOS, or the Windows Subsystem for Linux",
    ),
    "E-SERVER-STORAGE": Code(
        "The server cannot use its database or its data folder at the moment.",
        "try again in a few seconds; if the error remains, inform the administrator",
    ),
    "E-SERVER-BUG": Code(
        "The program has a defect; the input is not the cause.",
        "please report the error, with the steps to reproduce it",
    ),
}
