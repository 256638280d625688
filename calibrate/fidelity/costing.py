"""What the user side of a conversation costs: known for all its episodes, or unknown and never zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from annotate.episodes import CostBasis
from annotate.errors import InputError
from calibrate.fidelity.results import Cost, Question

if TYPE_CHECKING:
    import pandas as pd

BASES = get_args(CostBasis)


def cost_of_episodes(rows: pd.DataFrame, question: Question) -> Cost:
    """Return the mean cost of a proxy's conversations (rows of `Scored.rows`; those that broke off do not count).

    Known where every one has a cost and all costs are of one basis. Raises InputError for a negative cost.
    """
    ran = rows[~rows["state"].isin(["infra_error", "not_scorable"])]
    amounts = ran["cost_usd"].to_numpy(np.float64)
    bases = ran["cost_basis"].astype(str).to_numpy()
    listed = ran["list_cost_usd"].to_numpy(np.float64)
    list_usd = float(listed.mean()) if len(listed) and not np.isnan(listed).any() else None
    return _cost(amounts, bases, np.ones(len(amounts)), list_usd, question)


def cost_of_totals(rows: pd.DataFrame, question: Question) -> Cost:
    """Return the cost of a proxy from its rows of a table of results, weighted by episodes where domains differ."""
    amounts, sizes = rows["cost_usd"].to_numpy(np.float64), rows["n"].to_numpy(np.float64)
    listed = rows["list_cost_usd"].to_numpy(np.float64) if "list_cost_usd" in rows else np.array([np.nan])
    list_usd = float(np.average(listed, weights=sizes)) if not np.isnan(listed).any() and sizes.sum() > 0 else None
    return _cost(amounts, rows["cost_basis"].astype(str).to_numpy(), sizes, list_usd, question)


def _cost(amounts: Any, bases: Any, sizes: Any, list_usd: float | None, question: Question) -> Cost:
    n, known = int(sizes.sum()), ~np.isnan(amounts)
    if (amounts[known] < 0).any():
        raise InputError(f"cost {float(amounts[known].min())!r} is below 0, a cost must be >= 0: correct the price.")
    reason = _why_unknown(amounts, bases, sizes)
    if reason is not None:
        return Cost(usd=None, basis="unknown", n=n, reason=reason, list_usd=list_usd)
    same = float(np.ptp(amounts)) <= 1e-12 or sizes.sum() == 0
    usd = float(amounts[0]) if same else float(np.average(amounts, weights=sizes))
    basis = cast("CostBasis", bases[0] if bases[0] in BASES else "unknown")
    return Cost(usd=usd, basis=basis, n=n, list_usd=list_usd, epoch_usd=epoch_cost(usd, question))


def _why_unknown(amounts: Any, bases: Any, sizes: Any) -> str | None:
    known = ~np.isnan(amounts)
    if not len(amounts):
        return "no conversation"
    if not known.all():
        return f"known for {int(sizes[known].sum()):,} of {int(sizes.sum()):,}"
    kinds = sorted(set(bases))
    if len(kinds) > 1:
        parts = [f"{kind} for {int(sizes[bases == kind].sum()):,}" for kind in kinds]
        return f"{', '.join(parts)}: costs of different bases are not averaged"
    return None


def epoch_cost(usd: float, question: Question) -> float | None:
    """Return the cost of rollouts × prompts conversations in US dollars, None where their numbers are not given."""
    if question.rollouts is None or question.prompts is None:
        return None
    total = usd * question.rollouts * question.prompts
    return total if math.isfinite(total) else None
