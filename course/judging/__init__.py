"""Judging of answers to exercises: cases, verdicts and counterexamples.

`judge_in_process` runs the answer's code in this process, as the worker of the page does.
`apart.judge_apart` runs it in a sandbox. Requests and answers are the same JSON (docs/lessons.md).
"""

from course.judging.judge import judge_in_process

__all__ = ["judge_in_process"]
