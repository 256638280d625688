"""Tables for a paper: booktabs, every name escaped, n and interval method told in a comment above each table.

Needs `\\usepackage{booktabs}` and `\\usepackage{graphicx}`; letters that plain LaTeX lacks are written as commands, the
rest as they are (UTF-8).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from calibrate.estimate import Estimate, installed_version
from calibrate.fidelity.results import FidelityAnalysis, ProxyScore
from calibrate.report.drawing import shortened
from calibrate.report.fidelity.amounts import (
    COST_WORDS,
    LONGEST_NAME,
    audit_words,
    basis_words,
    decided,
    money,
    percent,
    phrase,
    share,
    threshold,
)
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.wording import counted, encodable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "‘": "`",
    "\u00a0": "~",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "κ": r"$\kappa$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "θ": r"$\theta$",
    "²": r"$^{2}$",
}
_LATIN = 0x250  # letters below it are in the fonts that LaTeX loads by itself
DOMAINS_A_TABLE = 4  # more are split, and what is wide is made to fit the width of the text
WIDE = 3


def escape(text: str) -> str:
    """Return a text in which nothing is a command; a sign that LaTeX's own fonts lack becomes `[U+1F916]`."""
    clean = re.sub(r"[^\S\u00a0]+", " ", encodable(text)).strip(" ")
    return "".join(_sign(sign) for sign in clean)


def escape_but_citations(text: str) -> str:
    r"""Return a text as LaTeX in which `\cite{…}` alone stays a command."""
    parts = re.split(r"(\\cite\{[a-z0-9,]+\})", text)
    return "".join(part if part.startswith("\\cite{") else _spaced(part) for part in parts)


def _spaced(text: str) -> str:
    """Escape a part of a text; spaces at its ends stay."""
    left, right = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :]
    return f"{left}{escape(text)}{right}" if text.strip() else text


def _sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if ord(sign) < _LATIN and sign.isprintable():
        return sign
    if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Mn"):
        return ""
    return f"[U+{ord(sign):04X}]"


def to_latex(analysis: FidelityAnalysis) -> str:
    """Return both tables: proxies by falling UFS, and UFS and reward by domain."""
    head = [
        _comment(f"User fidelity, UserCal {installed_version()}. Needs booktabs, graphicx; accents need T1 fontenc."),
        _comment(about(analysis)),
        _comment(_cost_remark(analysis)),
    ]
    parts = ["\n".join(head), main_table(analysis)]
    for part, start in enumerate(range(0, len(analysis.domains), DOMAINS_A_TABLE)):
        parts.append(domain_table(analysis, analysis.domains[start : start + DOMAINS_A_TABLE], part))
    return encodable("\n\n".join(parts)) + "\n"


def about(analysis: FidelityAnalysis) -> str:
    """Return n, method of the intervals, and who checked the judge, in one line."""
    basis, question = analysis.decision.question.basis, analysis.decision.question
    methods = dict.fromkeys(decided(s, basis).method or "no method stated" for s in analysis.proxies)
    sizes = [decided(score, basis).n for score in analysis.proxies] or [0]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    return (
        f"n = {span} scored episodes a proxy, {counted(analysis.tasks, 'task')}; UFS is the {basis_words(basis)}; "
        f"{percent(question.level)} intervals by {', '.join(methods) or 'no method'}; {audit_words(analysis)}"
    ).replace("\u00a0", " ")


def _cost_remark(analysis: FidelityAnalysis) -> str:
    """Return over how many conversations the cost of each proxy is a mean."""
    parts = []
    for score in analysis.proxies:
        name = shortened(score.proxy, False, LONGEST_NAME) or "(no name)"
        known = f"{COST_WORDS[score.cost.basis]}, n = {score.cost.n}" if score.cost.usd is not None else "unknown"
        parts.append(f"{name} {known}")
    return f"Cost/conv.: US dollars of the user side, a mean without an interval: {'; '.join(parts)}"


def _comment(text: str) -> str:
    """Return one line that LaTeX does not read, whatever the text holds."""
    return f"% {' '.join(encodable(text).split())}"


def main_table(analysis: FidelityAnalysis) -> str:
    """Return cost, UFS with interval, reward and n by proxy; a dagger marks the strictly dominated."""
    frontier, basis = used_frontier(analysis), analysis.decision.question.basis
    rows = []
    for score in analysis.proxies:
        name = _name(score)
        if score.proxy in frontier.strictly_dominated:
            name += r"$^{\dagger}$"
        if score.proxy == analysis.decision.chosen:
            name = rf"\textbf{{{name}}}"
        estimate = decided(score, basis)
        cost = r"\$" + money(score.cost.usd)[1:] if score.cost.usd is not None else "unknown"
        if score.cost.basis not in ("billed", "unknown"):
            cost += rf"\,({escape(COST_WORDS[score.cost.basis])})"
        rows.append([name, cost, _with_interval(estimate), _with_interval(score.reward), f"{estimate.n:,}"])
    caption = " ".join(["User fidelity and cost by proxy.", _claim(analysis), *_marks(analysis)])
    columns = ["Proxy", "Cost/conv.", "UFS", "Reward", "$n$"]
    return _table(caption, "tab:ufs", "lrllr", columns, rows)


def _marks(analysis: FidelityAnalysis) -> list[str]:
    """Return what the marks of the main table mean, of those that occur in it."""
    frontier, limit = used_frontier(analysis), threshold(analysis.decision.question.q)
    found = []
    if any(score.proxy in frontier.strictly_dominated for score in analysis.proxies):
        found.append(r"$^{\dagger}$ strictly dominated.")
    if any(score.proxy == analysis.decision.chosen for score in analysis.proxies):
        found.append(rf"Bold: cheapest with UFS $\geq$ {limit}.")
    return found


def _claim(analysis: FidelityAnalysis) -> str:
    words = escape(audit_words(analysis))
    mean = basis_words(analysis.decision.question.basis)
    level = escape(percent(analysis.decision.question.level))
    return f"UFS ({mean}) and reward with {level} interval; {words}."


def domain_table(analysis: FidelityAnalysis, domains: Sequence[str], part: int = 0) -> str:
    """Return reward, UFS and n by proxy and domain."""
    top = " & ".join(["", *(rf"\multicolumn{{3}}{{c}}{{{escape(phrase(domain))}}}" for domain in domains)]) + r" \\"
    rules = " ".join(rf"\cmidrule(lr){{{2 + 3 * k}-{4 + 3 * k}}}" for k in range(len(domains)))
    rows = []
    for score in analysis.proxies:
        cells = [_name(score)]
        for domain in domains:
            reward, ufs = score.reward_by_domain.get(domain), score.by_domain.get(domain)
            cells += [_value(reward), _value(ufs), f"{ufs.n:,}" if ufs is not None else "--"]
        rows.append(cells)
    columns = ["Proxy", *(["Reward", "UFS", "$n$"] * len(domains))]
    words = escape(audit_words(analysis))
    caption = (
        f"Reward and UFS by domain; $n$ counts scored episodes. {words[:1].upper()}{words[1:]}. "
        "Intervals stand in ufs\\_domains.csv."
    )
    mark = "" if part == 0 else f"-{part + 1}"
    spec = "l" + "rrr" * len(domains)
    return _table(caption, f"tab:ufs-domains{mark}", spec, columns, rows, above=f"{top}\n{rules}", star="*")


def _name(score: ProxyScore) -> str:
    return escape(shortened(score.proxy, False, LONGEST_NAME)) or "(no name)"


def _value(estimate: Estimate | None) -> str:
    return "--" if estimate is None or estimate.value is None else escape(share(estimate.value))


def _with_interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    interval = estimate.interval
    # In braces: a row that begins with a bracket would be read as an argument of the line break before it.
    limits = f" {{[{escape(share(interval.low))}, {escape(share(interval.high))}]}}" if interval else ""
    return escape(share(estimate.value)) + limits


def _table(
    caption: str,
    label: str,
    spec: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    above: str = "",
    star: str = "",
) -> str:
    wide = spec.count("r") > 3 * WIDE
    body = [f"{_row_start(row[0])}{' & '.join(row)} \\\\" for row in rows]
    lines = [
        rf"\begin{{table{star}}}[t]",
        r"\centering\small",
        *([r"\resizebox{\textwidth}{!}{%"] if wide else []),
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        *([above] if above else []),
        " & ".join(columns) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}" + ("}" if wide else ""),
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        rf"\end{{table{star}}}",
    ]
    return "\n".join(lines)


def _row_start(cell: str) -> str:
    """Return what keeps the first cell of a row from being read as an argument of the line break before it."""
    return "{}" if re.match(r"[\[*]", cell) else ""
