"""Whether a student's final answer is the reference answer: compared as numbers where both are, else as text."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable

from annotate.schema import Conversation, Item

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_NAMES = {"pi": math.pi, "e": math.e}


def outcome(item: Item, conversation: Conversation, answer: str) -> str:
    """Return `correct`, `incorrect`, or `unknown` where there is no answer; needs `reference["answer"]`."""
    if not answer.strip():
        return "unknown"
    return "correct" if same_answer(answer, str(item.reference["answer"])) else "incorrect"


def same_answer(given: str, reference: str) -> bool:
    """Whether two answers are the same number (to 1e-9, relative) or, once tidied, the same text."""
    left, right = tidy(given), tidy(reference)
    if left == right:
        return True
    numbers = number(left), number(right)
    if None in numbers:
        return False
    return math.isclose(numbers[0] or 0.0, numbers[1] or 0.0, rel_tol=1e-9, abs_tol=1e-12)


def tidy(text: str) -> str:
    """Strip LaTeX, a leading `x =`, a unit, and the final full stop; write fractions and roots plainly."""
    text = text.strip().strip("$").replace("\\(", "").replace("\\)", "").replace("\\left", "").replace("\\right", "")
    text = re.sub(r"\\boxed\{(.*)\}", r"\1", text)
    for _ in range(4):  # nested at most a few deep
        text = re.sub(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
    text = re.sub(r"\\frac(\d)(\d)", r"(\1/\2)", text)
    text = (
        text.replace("\\pi", "pi")
        .replace("π", "pi")
        .replace("√", "sqrt")
        .replace("\\cdot", "*")
        .replace("\\times", "*")
    )
    text = (
        text.replace("×", "*").replace("−", "-").replace("\\%", "").replace("%", "").replace("\\,", "").replace("$", "")
    )
    text = re.sub(r"^[a-zA-Z]\s*=\s*", "", text.strip())
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"^(-?[\d./]+)\s+[a-zA-Z]+\.?$", r"\1", text)
    return re.sub(r"\s+", "", text).rstrip(".").lower()


def number(text: str) -> float | None:
    """Return the value of an arithmetic expression of numbers, pi, sqrt, + - * / ^; None where it is anything else."""
    text = re.sub(r"sqrt(\d+)", r"sqrt(\1)", text.replace("^", "**"))
    text = re.sub(r"(?<=[\d)])(?=sqrt|pi|\()", "*", text)
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, TypeError):
        return None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return -_value(node.operand) if isinstance(node.op, ast.USub) else _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        value = _BINARY[type(node.op)](_value(node.left), _value(node.right))
        if isinstance(value, complex):
            raise ValueError("not a real number")
        return value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "sqrt"
        and len(node.args) == 1
    ):
        return math.sqrt(_value(node.args[0]))
    raise ValueError("not arithmetic")
