"""How the scale was used: shares of the categories, median and mean, of all ratings, each kind and each rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calibrate.agreement import Agreement, Marginal
from calibrate.report.agreement.titles import category, clean
from calibrate.report.agreement.words import decimal, percent, shares, tied
from calibrate.report.document import Block, Details, Paragraph, Table
from calibrate.report.wording import counted

COLUMN_CATEGORIES = 10
FEW_COLUMNS = 5
SHORT = 4  # signs of a label, where more than five categories have a column each
FEW_RATERS = 8
MOST_RATERS = 60
ALL = "all ratings"
_KINDS = ("people", "models")
_ROUNDING = 1e-9


def together(agreement: Agreement) -> list[Marginal]:
    """Return the use of the scale by everybody, and by people and by models together where both rated."""
    overall = agreement.overall
    mean = _mean(agreement.raters)
    made = [Marginal(ALL, "", overall.ratings, overall.not_applicable, overall.marginals, mean)]
    if not set(_KINDS) <= {own.kind for own in agreement.raters}:
        return made
    for kind in _KINDS:
        own = [marginal for marginal in agreement.raters if marginal.kind == kind]
        pooled = _pooled(own)
        if pooled is not None and len(own) > 1:
            n, na = sum(marginal.n for marginal in own), sum(marginal.not_applicable for marginal in own)
            made.append(Marginal(f"{kind} together", "", n, na, pooled, _mean(own)))
    return made


def _pooled(raters: Sequence[Marginal]) -> Mapping[Any, float] | None:
    """Return shares weighted by each rater's n; None where a rater's shares are not told."""
    rated = [own for own in raters if own.n]
    total = sum(own.n for own in rated)
    if not total or not all(own.shares for own in rated):
        return None
    names = dict.fromkeys(name for own in rated for name in own.shares)
    return {name: sum(own.n * own.shares.get(name, 0.0) for own in rated) / total for name in names}


def _mean(raters: Sequence[Marginal]) -> float | None:
    rated = [own for own in raters if own.n]
    total = sum(own.n for own in rated)
    held = [own.n * own.mean for own in rated if own.mean is not None]
    return sum(held) / total if total and len(held) == len(rated) else None


def median_words(agreement: Agreement, own: Marginal) -> str:
    """Return the median category of a scale with an order; nothing where shares are not told, or nothing was rated."""
    if agreement.level == "nominal" or not own.n or not own.shares:
        return ""
    used = [(name, own.shares.get(name, 0.0)) for name in agreement.categories if own.shares.get(name, 0.0) > 0]
    total = 0.0
    for at, (name, share) in enumerate(used):
        total += share
        if abs(total - 0.5) < _ROUNDING and at + 1 < len(used):
            return _between(name, used[at + 1][0])
        if total > 0.5:
            return category(name, 12)
    return ""


def _between(low: Any, high: Any) -> str:
    numbers = all(isinstance(own, int | float) and not isinstance(own, bool) for own in (low, high))
    return category((low + high) / 2, 12) if numbers else f"{category(low, 12)} to {category(high, 12)}"


def kind_words(own: Marginal) -> str:
    """Return a rater's name with its kind in brackets."""
    kind = "" if own.kind in ("", "raters") else f" ({clean(own.kind, 12)})"
    return f"{clean(own.rater, 24)}{kind}"


def use_blocks(agreement: Agreement) -> Iterator[Block]:
    """Yield the table of shares, the raters beyond eight folded away."""
    if not agreement.overall.ratings:
        yield Paragraph("There is no rating.")
        return
    shown = agreement.raters[:FEW_RATERS]
    yield _use_table(agreement, [*together(agreement), *shown], "Shares of the categories, of n ratings")
    rest = agreement.raters[FEW_RATERS:MOST_RATERS]
    if rest:
        beyond = len(agreement.raters) - MOST_RATERS
        blocks: list[Block] = [_use_table(agreement, rest, f"Raters {FEW_RATERS + 1} to {FEW_RATERS + len(rest)}")]
        if beyond > 0:
            blocks.append(Paragraph(f"{counted(beyond, 'more rater')} with fewer ratings: see agreement.json."))
        yield Details(f"{counted(len(agreement.raters) - FEW_RATERS, 'further rater')}", tuple(blocks))


def _in_columns(agreement: Agreement) -> bool:
    heads = [category(value, 12) for value in agreement.categories]
    few = len(heads) <= FEW_COLUMNS or all(len(head) <= SHORT for head in heads)
    return 0 < len(heads) <= COLUMN_CATEGORIES and few and bool(agreement.overall.marginals)


def _use_table(agreement: Agreement, raters: Sequence[Marginal], caption: str) -> Table:
    """Return shares, a column a category where they are few and short, else in one column."""
    in_columns = _in_columns(agreement)
    medians = [median_words(agreement, own) for own in raters]
    means = [own.mean for own in raters]
    rows = []
    for own, median in zip(raters, medians, strict=True):
        counts = f"{own.n:,}" + (f", {own.not_applicable:,} n/a" if own.not_applicable else "")
        if in_columns:
            told = [tied(percent(own.shares.get(value, 0.0))) if own.n else "–" for value in agreement.categories]
        else:
            told = [tied(shares(own.shares)) if own.n else "no rating"]
        row = [kind_words(own).capitalize() if own.kind == "" else kind_words(own), counts, *told]
        row += [median or "–"] if any(medians) else []
        row += [decimal(own.mean)] if any(mean is not None for mean in means) else []
        rows.append(tuple(row))
    heads = [category(value, 12) for value in agreement.categories] if in_columns else ["Shares"]
    columns = ["Ratings of", "n", *heads, *(["Median"] if any(medians) else [])]
    columns += ["Mean"] if any(mean is not None for mean in means) else []
    return Table(caption, tuple(columns), tuple(rows))
