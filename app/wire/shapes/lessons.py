"""Lessons of the course: runs of their blocks, exercises, and verdicts on answers."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem

JudgeVerdict = Literal["passed", "failed", "error", "timeout"]
MotionKind = Literal["walk", "places", "rewrites"]
WalkUse = Literal["read", "write", "sum"]
WalkCells = tuple[int, WalkUse, int, int, int, int]
RewritePhase = Literal["start", "match", "replace"]


class LessonRequest(TypedDict):
    """The request of a job that runs a lesson; `digest` is that of the lesson's text."""

    kind: Literal["lesson"]
    lesson: str
    digest: str
    seconds: float
    foreign: bool


class JudgeRequest(TypedDict):
    """The request of a job that judges an answer; `digest` is that of the exercise."""

    kind: Literal["judge"]
    exercise: str
    digest: str
    files: dict[str, str]
    seed: int


class LessonOptions(TypedDict, total=False):
    """The options of a run of a lesson: the time in seconds for measuring in each experiment."""

    seconds: float


class AnswerToJudge(TypedDict):
    """An answer to an exercise, by file name, and the seed of all random inputs."""

    files: dict[str, str]
    seed: NotRequired[int]


class LessonAmount(TypedDict):
    """A result of a block; a measured value has an interval. Values that are infinite are null."""

    value: float | None
    unit: str
    text: str
    low: float | None
    high: float | None


class DrawnNode(TypedDict):
    """A box of a drawing; `key` names it in the DOT text, `id` in the text of the graph."""

    key: str
    id: str
    op: str
    label: str
    detail: str
    family: str


class GraphDrawing(TypedDict):
    """A small graph as DOT, with the words of its boxes; `n_more` nodes are too many to draw."""

    dot: str
    nodes: list[DrawnNode]
    n_more: int


class LessonStep(TypedDict):
    """A step of a pass: an applied or declined rewrite."""

    rule: str
    outcome: str
    at: str
    because: str


class LessonPass(TypedDict):
    """A pass of a pipeline; `n_more` further steps are not listed."""

    name: str
    words: str
    changed: bool
    steps: list[LessonStep]
    n_more: int


class LessonMeasure(TypedDict):
    """A quantity that an experiment counts or measures."""

    name: str
    unit: str
    words: str
    timed: bool


class LessonCase(TypedDict):
    """A case of an experiment; `rounds` are the times of its timed runs in seconds."""

    name: str
    pipeline: str
    words: str
    rounds: list[float]


class LessonBuffer(TypedDict):
    """A placed buffer. Units: bytes; `start` and `end` are steps, the end excluded."""

    name: str
    start: int
    end: int
    offset: int
    size: int


class LessonMatrix(TypedDict):
    """A buffer of a kernel as a matrix; the last axis has the columns, all others the rows."""

    name: str
    shape: list[int]
    rows: int
    columns: int
    role: str


class WalkFrame(TypedDict):
    """An iteration of a kernel's loops: the values of the loops, and its elements as text.

    `cells` are rectangles of elements: the position of the matrix, the use, the first row, the
    first column, the number of rows, and the number of columns. The use "sum" means that the frame
    adds to registers that are stored to these elements later.
    """

    at: str
    reads: str
    writes: str
    sums: str
    cells: list[WalkCells]


class PlaceFrame(TypedDict):
    """The placement of a buffer, by its position in the plan.

    `on` names the buffers below it that are live at the same time. `shares` names buffers with
    common bytes; in the order "run", only the last owners of these bytes. Units: bytes.
    """

    buffer: int
    on: list[str]
    shares: list[str]
    peak_bytes: int


class RewriteFrame(TypedDict):
    """A rewrite before ("match") and after ("replace") it is applied; "start" is the given graph.

    `boxes` and `lines` are the visible boxes and lines of the drawing, by position. `marked` are
    the boxes that the rewrite matched or made.
    """

    phase: RewritePhase
    step: int
    rule: str
    at: str
    because: str
    took: list[str]
    made: list[str]
    boxes: list[int]
    marked: list[int]
    lines: list[int]


class LessonMotion(TypedDict):
    """A moving picture. Its frames are in `walk`, `places` or `rewrites`.

    `omitted` is the reason why the picture has no frames, or "". `order` is the order of placement.
    `lines` are the edges of the drawing, each as the keys of two boxes.
    """

    kind: MotionKind
    omitted: str
    order: str
    matrices: list[LessonMatrix]
    walk: list[WalkFrame]
    places: list[PlaceFrame]
    rewrites: list[RewriteFrame]
    drawing: GraphDrawing | None
    lines: list[list[str]]


class LessonBlock(TypedDict):
    """The results of one block; `block` is its position in the lesson.

    Drawings are keyed by the names of texts. `right` is the position of the right choice of a
    prediction, from 0; null for predictions of numbers.
    """

    block: int
    name: str
    kind: str
    seconds: float
    amounts: dict[str, LessonAmount]
    texts: dict[str, str]
    output: str
    error: Problem | None
    drawings: dict[str, GraphDrawing]
    passes: list[LessonPass]
    measure: list[LessonMeasure]
    cases: list[LessonCase]
    buffers: list[LessonBuffer]
    motion: LessonMotion | None
    right: int | None


class LessonRun(Payload):
    """The results of a lesson's blocks so far.

    `figures` has the text of each reference in the prose, keyed by the reference. `seconds` is the
    time for measuring in each experiment.
    """

    lesson: str
    seconds: float
    n_blocks: int
    blocks: list[LessonBlock]
    figures: dict[str, str]


class JudgedStep(TypedDict):
    """The rewrite that made a difference, and the nodes that it took and made."""

    rule: str
    at: str
    took: list[str]
    made: list[str]


class Counterexample(TypedDict, total=False):
    """The smallest case on which an answer fails: graphs before and after, or a plan.

    `inputs`, `expected` and `got` map names to arrays; `differs` is the first difference.
    """

    graph: str
    answer: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    got: dict[str, Any]
    differs: str
    step: JudgedStep | None
    problem: str
    plan: str
    drawings: dict[str, GraphDrawing]


class JudgedTest(TypedDict):
    """A test of an answer."""

    name: str
    passed: bool
    message: str
    counterexample: NotRequired[Counterexample]


class JudgedScore(TypedDict):
    """A deterministic score of a test, and the largest value that reaches the goal."""

    test: str
    name: str
    value: float | None
    unit: str
    goal: float | None
    reached: bool


class Judgement(Payload):
    """The verdict on an answer, with its tests in order, and the output of the answer's code."""

    verdict: JudgeVerdict
    tests: list[JudgedTest]
    scores: list[JudgedScore]
    output: str
    error: NotRequired[Problem]


class LessonSolution(Payload):
    """The solution of an exercise, and its discussion."""

    solution: str
    discussion: str


class CourseLesson(TypedDict):
    """A place on the map; `name` is the folder of its lesson, "" if there is none yet."""

    number: int
    part: int
    name: str
    title: str
    minutes: int
    prerequisites: list[str]
    n_exercises: int


class Course(Payload):
    """The map of the course: the titles of its parts, and all places in order."""

    parts: dict[str, str]
    lessons: list[CourseLesson]
