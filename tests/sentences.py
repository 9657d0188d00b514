"""Print random sentences for a reader: `python -m tests.sentences [--count 200] [--seed 1]`.

Readers who did not write the sentences mark those that they had to read twice: these are defects.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ("compiler", "app", "compilarium")
FEWEST_WORDS = 5


def main() -> None:
    """Print the sample, one sentence per line, with its kind and its file."""
    parser = argparse.ArgumentParser(prog="python -m tests.sentences")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = sorted({*_of_code(), *_of_documents(), *_of_the_page()})
    chance = random.Random(options.seed)
    for i, (kind, path, sentence) in enumerate(chance.sample(found, options.count), 1):
        print(f"{i:4} [{kind}] {path}: {sentence}")


def _of_code() -> Iterator[tuple[str, str, str]]:
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            for kind, text in _texts(ast.parse(path.read_text())):
                yield from ((kind, name, s) for s in _sentences(text))


def _texts(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield docstrings and other strings that people read as sentences."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield "docstring", node.value.value
        elif isinstance(node, ast.Call):
            for given in (*node.args, *(k.value for k in node.keywords)):
                if text := _literal(given):
                    yield "message", text


def _literal(node: ast.AST) -> str:
    """Return the text of a string; the fields of an f-string appear as source code."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(p.value) if isinstance(p, ast.Constant) else "{" + ast.unparse(p.value) + "}"
            for p in node.values
            if isinstance(p, ast.Constant | ast.FormattedValue)
        )
    return ""


def _of_documents() -> Iterator[tuple[str, str, str]]:
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        lines = [line for line in prose.split("\n") if not re.match(r"\s*[|#!<]", line)]
        for sentence in _sentences("\n".join(lines)):
            yield "document", str(path.relative_to(ROOT)), sentence


def _of_the_page() -> Iterator[tuple[str, str, str]]:
    for path in (ROOT / "templates").rglob("*.html"):
        text = re.sub(
            r"<(script|style).*?</\1>|{[{%#].*?[}%#]}", "", path.read_text(), flags=re.DOTALL
        )
        for found in re.split(
            r"</?(?:span|p|li|h\d|dt|dd|td|th|button|label|option)\b[^>]*>", text
        ):
            for sentence in _sentences(re.sub(r"<[^>]*>", "", found)):
                yield "page", str(path.relative_to(ROOT)), sentence


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|\n\s*[-*] ", text):
        joined = re.sub(r"\s+", " ", paragraph).strip()
        for sentence in re.split(r"(?<=[.!?:]) (?=[A-Z`\"(])", joined):
            is_example = sentence.startswith("graph ") or " = " in sentence
            if len(sentence.split()) >= FEWEST_WORDS and not is_example:
                yield sentence


if __name__ == "__main__":
    main()
