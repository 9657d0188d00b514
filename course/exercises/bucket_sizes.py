"""The exercise to choose the sizes of buckets."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.dataclass import dataclass
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.judgement import Judgement, Score
from course.judging.session import error_of, whole_number
from course.student.execute import Student

MOST_LENGTHS = 300
"""Maximum number of lengths in a case."""


@dataclass(frozen=True, slots=True)
class Requests:
    """The lengths of the runs that a program has to serve, and the maximum number of buckets."""

    lengths: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """Cases by name, the number of random cases, and the allowed padding as a factor."""

    cases: Mapping[str, Requests]
    n_random: int
    within: float


def read_buckets(t: Table) -> BucketSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("runs", "random", "within")
    cases: dict[str, Requests] = {}
    for i, each in enumerate(t.tables("runs"), 1):
        each.only("name", "lengths", "buckets")
        lengths = each.integers("lengths")
        most = each.integer("buckets")
        if not 1 <= len(lengths) <= MOST_LENGTHS or min(lengths) < 1 or most < 1:
            raise each.fail(f"a case has up to {MOST_LENGTHS} positive lengths, and a bucket")
        cases[each.text("name", f"runs {i}")] = Requests(lengths, most)
    n_random = t.integer("random", 5)
    if not 0 <= n_random <= 100:
        raise t.fail("random is at most 100")
    return BucketSettings(cases, n_random, t.number("within", 1.0))


def random_requests(seed: int) -> Requests:
    """Return many short lengths and a few long ones."""
    chance = random.Random(seed)
    n = chance.randint(8, 40)
    lengths = tuple(1 + int(chance.expovariate(1 / 40)) for _ in range(n))
    return Requests(lengths, chance.randint(2, 6))


def padding(lengths: Sequence[int], buckets: Sequence[int]) -> int:
    """Return the number of padded rows if each run uses the smallest bucket that is long enough."""
    return sum(min(b for b in buckets if b >= n) - n for n in lengths)


def least_padding(requests: Requests) -> int:
    """Return the least number of padded rows of any choice of buckets, by dynamic programming.

    A best choice has only lengths of runs as buckets. `best[j]` is the least padding of the j
    shortest runs, if the longest of them has its length as a bucket.
    """
    lengths = sorted(requests.lengths)
    sums = [0]
    for n in lengths:
        sums.append(sums[-1] + n)
    none = float("inf")
    best: list[float] = [0, *([none] * len(lengths))]
    for _ in range(min(requests.most, len(lengths))):
        best = [0] + [
            min(best[i] + (j - i) * lengths[j - 1] - (sums[j] - sums[i]) for i in range(j))
            for j in range(1, len(lengths) + 1)
        ]
    return int(best[-1])


def reply_of_buckets(
    student: Student, settings: BucketSettings, question: Mapping[str, Any]
) -> Any:
    """Choose buckets for a question's runs by the student's function `buckets(lengths, most)`."""
    made = student.function("buckets")(list(question["lengths"]), question["most"])
    return [int(b) if hasattr(b, "__index__") else str(b)[:40] for b in made]


def objection_to(requests: Requests, buckets: object) -> str:
    """Return the defect of chosen buckets, or ""."""
    if not isinstance(buckets, list) or any(whole_number(b) is None for b in buckets):
        return "the answer is not a list of whole numbers"
    if len(buckets) > requests.most:
        return f"{len(buckets)} buckets; at most {requests.most} are allowed"
    longest = max(requests.lengths)
    if not any(b >= longest for b in buckets):
        return f"a run of length {longest} fits no bucket; the buckets are {buckets}"
    return ""


@exercise_kind(read=read_buckets, reply=reply_of_buckets)
def write_buckets(j: Judgement, settings: BucketSettings, text: str) -> None:
    """Choose buckets: a function `buckets(lengths, most)` that returns sizes, at most `most`.

    Each run uses the smallest bucket that is long enough, and is padded to its size. The judge
    compares the number of padded rows with the least possible number.
    """
    cases = dict(settings.cases)
    for i in range(settings.n_random):
        cases[f"random runs {i + 1}"] = random_requests(j.seed * 1_000 + i)
    replies = j.ask([{"lengths": list(c.lengths), "most": c.most} for c in cases.values()])
    for (name, requests), reply in zip(cases.items(), replies, strict=True):
        error = error_of(reply)
        if error is not None:
            j.refused(name, error)
            continue
        chosen = reply["value"]
        objection = objection_to(requests, chosen)
        if objection:
            j.failed(name, objection)
            continue
        j.passed(name, "every run fits a bucket")
        padded = padding(requests.lengths, [int(b) for b in chosen])
        most = least_padding(requests) * settings.within
        j.score(f"{name}: padding", Score("padded rows", padded, "count", most))
