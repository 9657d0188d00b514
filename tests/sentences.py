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
CODE = ("compiler", "course", "app", "compilarium", "sandbox")
FEWEST_WORDS = 5
LONGEST_PLACE = 100


def main() -> None:
    """Print the sample: each sentence with its file, its place, and the sentence before it."""
    parser = argparse.ArgumentParser(prog="python -m tests.sentences")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = sorted({*_of_code(), *_of_documents(), *_of_the_page()})
    chance = random.Random(options.seed)
    for i, (path, place, before, sentence) in enumerate(chance.sample(found, options.count), 1):
        print(f"{i}. {path}, {place}\n   {f'({before}) ' if before else ''}**{sentence}**")


Sentence = tuple[str, str, str, str]
"""The file of a sentence, its place there, the sentence before it or "", and the sentence."""


def _of_code() -> Iterator[Sentence]:
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            for place, text in _texts(ast.parse(path.read_text()), "the module"):
                yield from ((name, place, *s) for s in _sentences(text))


def _texts(node: ast.AST, place: str) -> Iterator[tuple[str, str]]:
    """Yield docstrings and other strings that people read as sentences, with their places."""
    former = ""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            if isinstance(child.value.value, str):
                yield former or place, child.value.value
        elif isinstance(child, ast.Call):
            for given in (*child.args, *(k.value for k in child.keywords)):
                if text := _literal(given):
                    yield f"a text in {place}", text
        yield from _texts(child, _header(child) or place)
        former = ast.unparse(child) if isinstance(child, ast.Assign | ast.AnnAssign) else ""
        former = former if len(former) < LONGEST_PLACE else former.partition("=")[0]


def _header(node: ast.AST) -> str:
    """Return the first line of a class or function, else ""."""
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {node.name}({ast.unparse(node.args)}){result}"
    return ""


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


def _of_documents() -> Iterator[Sentence]:
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        name = str(path.relative_to(ROOT))
        prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for section in re.split(r"^(?=#)", prose, flags=re.MULTILINE):
            heading = section.partition("\n")[0].strip("# ")
            lines = [line for line in section.split("\n") if not re.match(r"\s*[|#!<]", line)]
            yield from ((name, heading, *s) for s in _sentences("\n".join(lines)))


def _of_the_page() -> Iterator[Sentence]:
    for path in (ROOT / "templates").rglob("*.html"):
        name = str(path.relative_to(ROOT))
        text = re.sub(
            r"<(script|style).*?</\1>|{[{%#].*?[}%#]}", "", path.read_text(), flags=re.DOTALL
        )
        for found in re.split(
            r"</?(?:span|p|li|h\d|dt|dd|td|th|button|label|option)\b[^>]*>", text
        ):
            yield from ((name, "the page", *s) for s in _sentences(re.sub(r"<[^>]*>", "", found)))


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text, each after the sentence before it."""
    for paragraph in re.split(r"\n\s*\n|\n\s*[-*] ", text):
        joined = re.sub(r"\s+", " ", paragraph).strip()
        before = ""
        for sentence in re.split(r"(?<=[.!?:]) (?=[A-Z`\"(])", joined):
            is_example = sentence.startswith("graph ") or " = " in sentence
            if len(sentence.split()) >= FEWEST_WORDS and not is_example:
                yield before, sentence
            before = sentence


if __name__ == "__main__":
    main()
