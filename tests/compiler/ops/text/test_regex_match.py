"""Tests of regular expressions in RE2 syntax, against Python's if both agree in meaning."""

from __future__ import annotations

import random
import re
import time

import pytest

from compiler.errors import CompileError
from compiler.ops.text.regex_match import automaton_of, full_matches

ATOMS = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "(a|b)", "(ab)", "^", "$", r"\b", "(?:c|)"]
COUNTS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]
TEXTS = ["", "a", "ab", "abc", "aab1", "bb", "1", "c b"]


def test_random_patterns_match_what_python_matches() -> None:
    chance = random.Random(1)
    n_patterns = 0
    for _ in range(1500):
        parts = [chance.choice(ATOMS) + chance.choice(COUNTS) for _ in range(chance.randint(1, 4))]
        pattern = "".join(parts)
        try:
            wanted = re.compile(pattern, re.ASCII)
        except re.error:
            continue
        n_patterns += 1
        found = full_matches(pattern, TEXTS).tolist()
        assert found == [bool(wanted.fullmatch(t)) for t in TEXTS], pattern
    assert n_patterns > 1000


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\pLu?", "éu", True),
        (r"\p{Lu}\P{Lu}", "Éé", True),
        ("[[:alpha:]]+[[:^digit:]]", "ab!", True),
        (r"\Qa*\E*", "a***", True),
        (r"(?i)straSSe", "STRASSE", True),
        ("(?i:a)b", "AB", False),
        ("(?s).", "\n", True),
        (".", "\n", False),
        ("a$", "a\n", False),
        ("(?m)a$\nb", "a\nb", True),
        (r"\x41\x{1F600}\101", "A\U0001f600A", True),
        ("(?P<n>a)(?<m>b)", "ab", True),
        ("[]a]+", "]a", True),
        ("[a-]+", "a-", True),
        ("x{,2}", "x{,2}", True),
        (r"\B", "", True),
    ],
)
def test_the_syntax_of_re2(pattern: str, text: str, matches: bool) -> None:
    assert full_matches(pattern, [text]).tolist() == [matches]


REFUSED = (
    *(r"(a)\1", "(?=a)", "(?<=a)", "(", "a)", "*", "a{1001}", "[b-a]", r"\p{Nope}", "[[:nope:]]"),
    *("(" * 500 + ")" * 500, "((a{1,99}){1,99}){1,99}", "\\", "[a", "(?z)", r"\x{}"),
)


@pytest.mark.parametrize("pattern", REFUSED)
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(CompileError) as e:
        automaton_of(pattern)
    assert e.value.code == "E-RUN-OPERATOR"


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a|aa)+c", "(.*)*x", "(a?){30}a{30}b"])
def test_what_makes_others_backtrack_takes_linear_time(pattern: str) -> None:
    start = time.process_time()
    assert full_matches(pattern, ["a" * 20_000]).tolist() == [False]
    assert time.process_time() - start < 30
