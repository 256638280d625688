"""Reference cases of the user fidelity score, its frontier, and of published tables: input unpacked, outputs named."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from annotate.episodes import VERDICT_COLUMNS, EpisodeFrames
from annotate.fidelity_numbers import counts_behind, printed_rate
from annotate.fidelity_tables import read_table
from calibrate.fidelity.analysing import analyse
from calibrate.fidelity.counting import counts_of
from calibrate.fidelity.domination import frontier, operating_point
from calibrate.fidelity.means import TaskSums, level_of
from calibrate.fidelity.results import Basis, FidelityAnalysis, ProxyScore, Question
from calibrate.fidelity.scoring import score
from calibrate.stats.correlation import spearman
from calibrate.stats.group_means import group_means

Case = dict[str, Any]
SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
CASES = SHARED / "cases"
DOMAINS = ("Telecom", "Airline", "Retail", "Banking")
NOT_OURS: dict[str, dict[str, str]] = {
    "up-fail-total": {
        "premature_disclosure": "published as a total; no table tells which episodes or criteria it counts",
        "goal_deviation": "published as a total; no table tells which episodes or criteria it counts",
    },
}
"""Case → leaf that nothing of the project can give → why."""


def known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# ------------------------------------------------------------------------------------------- frontier and episodes


def frontier_handworked(case: Case) -> dict[str, Any]:
    points = {name: (own["cost"], own["ufs"]) for name, own in case["input"]["points"].items()}
    made = frontier(points)
    return {
        "strict_frontier": list(made.strict),
        "pareto_frontier": list(made.pareto),
        "strictly_dominated": list(made.strictly_dominated),
        "pareto_dominated": list(made.pareto_dominated),
        "excluded": sorted(made.excluded),
        "operating": {str(q): operating_point(points, q) for q in case["input"].get("q", [])},
    }


def episode_frames(episodes: list[dict[str, Any]]) -> EpisodeFrames:
    rows, verdicts = [], []
    for at, own in enumerate(episodes):
        name = f"e{at:05}"
        columns = {"domain": "all", "trial": 0, "status": "ok", "proxy": "p", **own}
        criteria = columns.pop("criteria")
        rows.append({**columns, "episode": name, "trial": str(columns["trial"])})
        for place, said in enumerate(criteria):
            value = "missing" if said == "error" else said
            verdicts.append([name, f"c{place}", "f", "m", value, "judge", "model", None, None])
    return EpisodeFrames(episodes=pd.DataFrame(rows), verdicts=pd.DataFrame(verdicts, columns=VERDICT_COLUMNS))


def ufs_handworked(case: Case) -> dict[str, Any]:
    scored = score(episode_frames(case["input"]["episodes"]))
    sums = TaskSums.of(scored.rows, scored.rows["faithful"].to_numpy(), scored.proxies, scored.domains)
    counts = counts_of(scored, scored.proxies[0])
    return {
        "n_total": counts.total,
        "n_duplicates": counts.duplicates,
        "n_infra": counts.infra_errors,
        "n_undefined": counts.undefined,
        "n_unscored": counts.unscored,
        "n_scored": counts.scored,
        "ufs_pooled": known(sums.over("episodes")[0]),
        "ufs_by_domain": {name: known(value) for name, value in zip(scored.domains, sums.means()[0], strict=True)},
        "ufs_mean_of_domains": known(sums.over("domains")[0]),
    }


# -------------------------------------------------------------------------------------------------- UserProxyBench


@cache
def published_frames() -> EpisodeFrames:
    """The two printed tables, their rates turned back into counts."""
    return read_table([CASES / "userproxybench_table2.csv", CASES / "userproxybench_table1.csv"])


@cache
def published(basis: Basis = "domains") -> FidelityAnalysis:
    return analyse(published_frames(), Question(basis=basis, resamples=100))


def by_proxy(basis: Basis = "domains") -> dict[str, ProxyScore]:
    return {own.proxy: own for own in published(basis).proxies}


def mean_of_proxy(case: Case) -> dict[str, Any]:
    name = case["input"]["proxy"]
    own = by_proxy()[name]
    printed = {key: [printed_rate(text).value for text in case["input"][key]] for key in ("ufs", "reward")}
    return {
        "mean_ufs_from_counts": own.ufs.value,
        "mean_reward_from_counts": own.reward.value,
        **{f"mean_{key}_from_printed": float(sum(values) / len(values)) for key, values in printed.items()},
        "pooled_ufs": own.pooled.value,
        "pooled_reward": by_proxy("episodes")[name].reward.value,
        "se_mean_ufs": own.ufs.extra["se"],
    }


def reward_range(case: Case) -> dict[str, Any]:
    printed = [printed_rate(text).value for text in case["input"]["mean_reward"].values()]
    low, high = min(printed), max(printed)
    spread = published().reward_spread.value
    return {"min": float(low), "max": float(high), "spread": float(high - low), "spread_from_counts": spread}


def published_frontier(case: Case) -> dict[str, Any]:
    made = frontier({name: tuple(point) for name, point in case["input"]["points"].items()})
    return {
        "strictly_dominated": list(made.strictly_dominated),
        "dominated_by": {name: list(by) for name, by in made.dominated_by.items()},
        "frontier": list(made.strict),
    }


def published_operating_point(case: Case) -> dict[str, Any]:
    points = {name: tuple(point) for name, point in case["input"]["points"].items()}
    name = operating_point(points, case["input"]["q"])
    cost, ufs = points[name] if name else (None, None)
    return {"operating_point": name, "cost": cost, "ufs": ufs}


def cost_ratio(_: Case) -> dict[str, Any]:
    table = pd.read_csv(CASES / "userproxybench_table1.csv", dtype=str).set_index("proxy")
    ufs = {str(name): printed_rate(text).value for name, text in table["mean_ufs"].items()}
    costs = {name: own.cost.usd or 0.0 for name, own in by_proxy().items()}
    return {
        "ufs_gain": float(ufs["Gemini-3.5-Flash"] - ufs["Gemma-31B"]),
        "cost_ratio": costs["Gemini-3.5-Flash"] / costs["Gemma-31B"],
    }


def attainable_rho(case: Case) -> dict[str, Any]:
    """The rho of two rankings without ties that rounds to the printed one."""
    first = range(case["input"]["n"])
    printed = printed_rate(case["published"]["rho"]["printed"])
    for second in permutations(first):
        rho = spearman(list(first), second)
        if isinstance(rho, float) and abs(rho - float(printed.value)) <= float(printed.half):
            return {"sum_d2": sum((a - b) ** 2 for a, b in zip(first, second, strict=True)), "rho": rho}
    return {}


def ranks(_: Case) -> dict[str, Any]:
    names = [own.proxy for own in published().proxies]
    return {
        "ranking": names,
        "qwen_rank": names.index("Qwen3.6-35B") + 1,
        "gemma26_rank": names.index("Gemma-26B") + 1,
    }


def failures(_: Case) -> dict[str, Any]:
    results = published_frames().results
    assert results is not None
    failing = (results["n"] - results["faithful"]).groupby(results["domain"]).sum()
    return {"failing_episodes": int(failing.sum()), "failing_by_domain": [int(failing[name]) for name in DOMAINS]}


def complete_tasks(case: Case) -> dict[str, Any]:
    """Every proxy on every task of the table, the infrastructure errors on one and the same task of Banking."""
    table = pd.read_csv(CASES / "userproxybench_table2.csv")
    broken = list(table["proxy"][table["mark"] == "asterisk"])
    assert len(broken) == case["input"]["infrastructure_errors"]
    episodes = [
        {
            "proxy": row["proxy"],
            "domain": row["domain"],
            "task": f"t{task}",
            "status": "infra_error" if row["mark"] == "asterisk" and task == 0 else "ok",
            "criteria": ["pass"],
        }
        for _, row in table.iterrows()
        for task in range(row["n_tasks"])
    ]
    return {"complete_tasks": analyse(episode_frames(episodes), Question(resamples=100)).common_tasks}


def uncertainty(_: Case) -> dict[str, Any]:
    own = by_proxy()
    se = {name: float(made.ufs.extra["se"] or 0.0) for name, made in own.items()}
    mean = {name: made.ufs.value or 0.0 for name, made in own.items()}
    asked = (("Gemma-31B", 0.84), ("Gemini-3.5-Flash", 0.86), ("GPT-4.1-mini", 0.75))
    gaps = {frozenset((made.first, made.second)): made.estimate for made in published().differences}
    pairs = {
        "Gemini-Gemma31": frozenset(("Gemini-3.5-Flash", "Gemma-31B")),
        "Gemma26-GPT41": frozenset(("Gemma-26B", "GPT-4.1-mini")),
    }
    return {
        "se": se,
        "prob_ge": {  # one side of a two-sided level
            f"{name}>={f'{q:g}'.removeprefix('0')}": (1 + level_of((mean[name] - q) / se[name])) / 2
            for name, q in asked
        },
        "diff": {
            label: {"diff": abs(gaps[pair].value or 0.0), "se_unpaired": gaps[pair].extra["se"]}
            for label, pair in pairs.items()
        },
    }


def token_price(_: Case) -> dict[str, Any]:
    results = published_frames().results
    assert results is not None
    rows = results.groupby("proxy").first()
    price = 1e6 * rows["cost_usd"] / (rows["prompt_tokens"] + rows["completion_tokens"])
    return {str(name): {"blended_usd_per_Mtok": float(value)} for name, value in price.items()}


USERPROXYBENCH: dict[str, Callable[[Case], dict[str, Any]]] = {
    "up-mean": mean_of_proxy,
    "up-reward-range": reward_range,
    "up-frontier": published_frontier,
    "up-operating": published_operating_point,
    "up-cost-ratio": cost_ratio,
    "up-rho": attainable_rho,
    "up-ranks": ranks,
    "up-fail-total": failures,
    "up-374": complete_tasks,
    "up-uncertainty": uncertainty,
    "up-token-price": token_price,
}
"""Beginning of a case's id → its function."""


def userproxybench(case: Case) -> dict[str, Any]:
    return next(made for start, made in USERPROXYBENCH.items() if case["id"].startswith(start))(case)


# -------------------------------------------------------------------------------------------------- SimulatorArena


def sa_gain(_: Case) -> dict[str, Any]:
    rho = pd.read_csv(CASES / "simulatorarena_correlation.csv").set_index("method")
    plain = rho.loc["zero-shot-CoT"]
    math, doc = rho["math_rho"]["+ profile: interaction style"], rho["document_rho"]["+ profile: all"]
    return {
        "math_from": plain["math_rho"],
        "math_to": math,
        "doc_from": plain["document_rho"],
        "doc_to": doc,
        "math_gain": math - plain["math_rho"],
        "doc_gain": doc - plain["document_rho"],
    }


def sa_cost(_: Case) -> dict[str, Any]:
    cost = pd.read_csv(CASES / "simulatorarena_cost.csv").set_index("method")
    methods = {"cot": "zero-shot-CoT", "profile": "+ user profile"}
    percent = {
        f"{task}_{label}_pct": 100 * cost[f"{task}_cost_usd"][method] / cost[f"{task}_cost_usd"]["human"]
        for task in ("math", "doc")
        for label, method in methods.items()
    }
    return {**percent, "max_pct": max(percent.values())}


def sa_groups(_: Case) -> dict[str, Any]:
    """SimulatorArena's sizes: 9 assistants by 3 difficulties or document types, 450 and 459 conversations."""
    assistants, levels, math, doc = 9, 3, 450, 459
    cells = [f"{assistant}/{level}" for assistant, level in product(range(assistants), range(levels))]
    rating = np.arange(len(cells), dtype=float)
    return {
        "groups": len(group_means(np.array(cells), rating, rating).groups),
        "total": math + doc,
        "math_per_model": math / assistants,
        "doc_per_model": doc / assistants,
    }


def sa_grim_assistant(case: Case) -> dict[str, Any]:
    models = pd.read_csv(CASES / "simulatorarena_assistants_excerpt.csv")["model"]
    shares = [printed_rate(f"{text}%") for text in case["input"]["pct"]]
    n = case["input"]["n"]
    return {
        "consistent": {name: counts_behind(share, n) is not None for name, share in zip(models, shares, strict=True)}
    }


def sa_grim_turing(case: Case) -> dict[str, Any]:
    """A distance from 50 % is a share above it, of n pairs or of 2n half credits."""
    sizes = (("math", 427), ("math", 450), ("doc", 459))
    got: dict[str, Any] = {}
    for (task, n), (credit, parts) in product(sizes, (("integer", 1), ("half", 2))):
        shares = [printed_rate(f"{50 + Decimal(text.rstrip('%'))}%") for text in case["input"][task]]
        got[f"{task}_n{n}_{credit}"] = [counts_behind(share, parts * n) is not None for share in shares]
    return got


SIMULATORARENA: dict[str, Callable[[Case], dict[str, Any]]] = {
    "sa-gain": sa_gain,
    "sa-cost": sa_cost,
    "sa-groups": sa_groups,
    "sa-grim-assistant": sa_grim_assistant,
    "sa-grim-turing": sa_grim_turing,
}


def simulatorarena(case: Case) -> dict[str, Any]:
    return SIMULATORARENA[case["id"]](case)


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "frontier_handworked": frontier_handworked,
    "ufs_handworked": ufs_handworked,
    "userproxybench": userproxybench,
    "simulatorarena": simulatorarena,
}
