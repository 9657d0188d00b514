"""The check of a whole lesson."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from time import perf_counter

from compiler.errors import CompileError, Where
from compiler.passes.pipeline.text import parse_pipeline
from compiler.units import count_text
from course.blocks.all import read_lesson
from course.blocks.results import SAMPLE, Load, Run, no_samples
from course.blocks.run import filled_prose, run_lesson
from course.checking import prose
from course.checking.exercises import Tell, few_wrong, problems_of
from course.checking.report import Problem, Report, Timed, problem_of
from course.format.lesson import Lesson, Prose
from course.format.references import references, references_of
from course.lessons import LessonFolder

LEAST = {"experiment": 3, "predict": 2, "why": 1, "exercise": 2}
"""Minimum number of blocks of a lesson, by kind."""


def silent(what: str) -> None:
    """Report no progress."""


def check_lesson(
    folder: LessonFolder,
    *,
    load: Load = no_samples,
    panes: Collection[str] = (),
    seconds: float = 0.2,
    tell: Tell = silent,
) -> Report:
    """Check a lesson: its form, its blocks, its prose and its exercises.

    `panes` are the names of panes that exist; if empty, names are not checked. `seconds` limits the
    timing of each experiment. With 0, references to measured values and predictions of them are not
    checked.
    """
    report, start = Report(folder.name), perf_counter()
    try:
        lesson = folder.lesson
    except CompileError as e:
        report.add([problem_of(e)])
        return report
    tell("blocks")
    _run(report, lesson, load, seconds)
    report.add([*_form(lesson), *_order(lesson), *_views(lesson, panes)])
    report.add([*_prose(lesson, folder)])
    _exercises(report, lesson, folder, tell)
    report.times.append(Timed("all", "lesson", perf_counter() - start))
    return report


def unfinished(folder: LessonFolder) -> list[Problem]:
    """Return the blocks and wrong solutions that a lesson still lacks; no block runs.

    Errors: E-LESSON-*, E-EXERCISE-FORM.
    """
    exercises = folder.exercises.values()
    return [*_form(folder.lesson), *(p for each in exercises for p in few_wrong(each))]


def _form(lesson: Lesson) -> Iterator[Problem]:
    if read_lesson(str(lesson), lesson.source) != lesson:
        yield Problem(Where(lesson.source), "the printed text parses to another lesson")
    found = Counter(b.kind for b in lesson.blocks)
    for kind, least in LEAST.items():
        if found[kind] < least:
            blocks = count_text(found[kind], "block")
            message = f"{blocks} of kind {kind}; a lesson has at least {least}"
            yield Problem(Where(lesson.source), message)


def _run(report: Report, lesson: Lesson, load: Load, seconds: float) -> None:
    """Run all blocks, and fill the prose with their results."""
    run, ran = run_lesson(lesson, load, seconds)
    for each in ran:
        if each.block.kind == "predict" and any(map(run.omits, each.block.content.references)):
            continue
        report.times.append(Timed(each.block.name, each.block.kind, each.seconds))
        if each.error is not None:
            report.add([problem_of(each.error)])
    failed = {each.block.name for each in ran if each.error is not None}
    try:
        for where, reference in references_of(lesson):
            if reference.block not in failed and not run.omits(reference):
                try:
                    run.amount(reference, where).text(reference.filter)
                except CompileError as e:
                    report.add([problem_of(e)])
        if report.ok:
            for part in lesson.parts:
                if isinstance(part, Prose) and not _omitted(run, part):
                    filled_prose(run, part)
    except CompileError as e:
        report.add([problem_of(e)])


def _omitted(run: Run, part: Prose) -> bool:
    """Whether prose refers to amounts that the run does not measure."""
    return any(run.omits(r) for _, r in references(part.text))


def _order(lesson: Lesson) -> Iterator[Problem]:
    """Yield predictions that stand after the experiments that answer them."""
    for block in lesson.blocks:
        if block.kind == "predict":
            for name in sorted(block.content.sources):
                source = lesson.block(name)
                if source is not None and source.line < block.line:
                    message = f"the prediction {block.name} stands after its experiment {name}"
                    yield Problem(lesson.where(block), message)


def _views(lesson: Lesson, panes: Collection[str]) -> Iterator[Problem]:
    for block in lesson.blocks:
        if block.kind != "view":
            continue
        where, of = lesson.where(block), str(block.options["of"])
        pane = str(block.options["pane"])
        if panes and pane not in panes:
            yield Problem(where, f"no pane is named {pane!r}; panes: {', '.join(panes)}")
        if not of.startswith(SAMPLE) and lesson.block(of) is None:
            yield Problem(where, f"no block is named {of!r}")
        try:
            parse_pipeline(str(block.options.get("pipeline", "default")))
        except CompileError as e:
            yield problem_of(e.at(where))


def _prose(lesson: Lesson, folder: LessonFolder) -> Iterator[Problem]:
    parts = [p for p in lesson.parts if isinstance(p, Prose)]
    for part in parts:
        yield from prose.typed_figures(part, lesson.source)
        yield from prose.long_sentences(part.text, lesson.where(part))
        yield from prose.broken_links(part, lesson.source, folder.path)
    for block, words in prose.words_of_blocks(lesson):
        yield from prose.long_sentences(words, lesson.where(block))
    mean = prose.mean_words([p.text for p in parts])
    if mean > prose.MEAN_SENTENCE:
        message = f"sentences have {mean:.1f} words on average"
        hint = f"shorten them: at most {prose.MEAN_SENTENCE:g} on average"
        yield Problem(Where(lesson.source), message, hint)
    yield from prose.unused_terms(lesson)
    yield from prose.repeated_verdicts(lesson)


def _exercises(report: Report, lesson: Lesson, folder: LessonFolder, tell: Tell) -> None:
    """Check each exercise, and that each one has one block in the text."""
    try:
        exercises = folder.exercises
    except CompileError as e:
        report.add([problem_of(e)])
        return
    shown = Counter(str(b.options["folder"]) for b in lesson.blocks if b.kind == "exercise")
    for name in sorted(shown.keys() | exercises.keys()):
        if name not in exercises:
            report.add([Problem(Where(lesson.source), f"there is no folder {name!r}")])
        elif shown[name] != 1:
            message = f"the text has {count_text(shown[name], 'block')} for {name}; it needs one"
            report.add([Problem(Where(lesson.source), message)])
    for each in exercises.values():
        report.add([*problems_of(each, report.times, tell)])
