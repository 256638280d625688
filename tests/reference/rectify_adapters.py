"""Reference cases of the estimators that correct a judge by human labels: input unpacked, outputs named."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrate.estimate import Interval, Undefined
from calibrate.stats.rectify.allocation import neyman_allocation, proportional_allocation
from calibrate.stats.rectify.alternative_annotator import AlternativeAnnotator, alternative_annotator_test
from calibrate.stats.rectify.audited import AuditStratum, audited_ufs
from calibrate.stats.rectify.prediction_powered import PredictionPowered, prediction_powered_mean
from calibrate.stats.rectify.rogan_gladen import rogan_gladen
from calibrate.stats.rectify.sens_spec import Share, judge_validity_of_counts
from calibrate.stats.rectify.stratified_sample import (
    Stratum,
    design_variance,
    hajek_mean,
    horvitz_thompson_total,
    sen_yates_grundy_variance,
    stratified_mean,
    two_draw_inclusion,
)

Case = dict[str, Any]


def number(value: Any) -> Any:
    """Return the value, or None where it is undefined."""
    return None if isinstance(value, Undefined) else value


def limits(interval: Interval | Undefined) -> list[float] | None:
    return None if isinstance(interval, Undefined) else [interval.low, interval.high]


# ------------------------------------------------------------------------------------------------------- sens_spec


def share(one: Share) -> dict[str, float] | None:
    if isinstance(one.value, Undefined) or isinstance(one.interval, Undefined):
        return None
    return {"est": one.value, "low": one.interval.low, "high": one.interval.high}


def sens_spec(case: Case) -> dict[str, Any]:
    validity = judge_validity_of_counts(**{key: case["input"][key] for key in ("tp", "fn", "fp", "tn")})
    shares = {key: share(getattr(validity, key)) for key in ("sensitivity", "specificity", "ppv", "npv", "accuracy")}
    return {
        **shares,
        "youden": number(validity.youden),
        "lr_pos": number(validity.lr_positive),
        "lr_neg": number(validity.lr_negative),
    }


# ---------------------------------------------------------------------------------------------------- rogan_gladen


def corrected(case: Case) -> dict[str, Any]:
    counts = {key: case["input"][key] for key in ("positive", "n", "tp", "n_pos", "tn", "n_neg")}
    result = rogan_gladen(**counts, level=case["params"].get("conf", 0.95))
    wald = limits(result.wald)
    return {
        "apparent": result.apparent,
        "se": number(result.sensitivity),
        "sp": number(result.specificity),
        "youden": number(result.youden),
        "raw": number(result.raw),
        "clipped": number(result.clipped),
        "was_clipped": result.was_clipped,
        "var_delta": number(result.variance),
        "se_delta": number(result.se),
        "wald": wald,
        "wald_clipped": None if wald is None else [min(max(v, 0.0), 1.0) for v in wald],
        "lr_raw": limits(result.lang_reiczigel_raw),
        "lr": limits(result.lang_reiczigel),
    }


# -------------------------------------------------------------------------------------------------------- ppi_mean


def ppi_mean(case: Case) -> dict[str, Any]:
    data, params = case["input"], case["params"]
    arrays = (data["Y"], data["Yhat"], data["Yhat_unlabeled"])
    names = {"classical": "classical", "ppi": "ppi", "ppi_pp": "ppi++"}
    out: dict[str, Any] = {key: mean_of(arrays, estimator) for key, estimator in names.items()}
    plain = prediction_powered_mean(*arrays, ddof=0)
    if isinstance(plain, Undefined):
        return out
    alternative = params.get("alternative", "two-sided")
    bound = plain.bound(alternative, params.get("conf", 0.95))
    if not isinstance(bound, Undefined):
        out["ci_low"] = -np.inf if bound.low is None else bound.low
        out["ci_high"] = np.inf if bound.high is None else bound.high
    return {**out, "est": plain.value, "se": plain.se, "method": plain.estimator, "lambda": plain.lam}


def mean_of(arrays: tuple[Any, Any, Any], estimator: Any) -> dict[str, Any] | None:
    by_n = prediction_powered_mean(*arrays, estimator=estimator, ddof=0)
    by_n_less_1 = prediction_powered_mean(*arrays, estimator=estimator, ddof=1)
    if not isinstance(by_n, PredictionPowered) or not isinstance(by_n_less_1, PredictionPowered):
        return None
    return {
        "est": by_n.value,
        "se_ddof0": by_n.se,
        "se_ddof1": by_n_less_1.se,
        "ci95": limits(by_n.limits(0.95)),
        "ci90": limits(by_n.limits(0.9)),
        "lambda": by_n.lam,
        "lambda_unclipped": by_n.lam_unclipped,
    }


# ------------------------------------------------------------------------------------------- stratified_estimators


def stratified_estimators(case: Case) -> dict[str, Any]:
    data = case["input"]
    if "psi" in data:
        return supermarkets([float(Fraction(p)) for p in data["psi"]], data["totals"])
    if "weights" in data:
        hajek = hajek_mean(data["y"], data["weights"])
        total = horvitz_thompson_total(data["y"], [1 / w for w in data["weights"]])
        if isinstance(hajek, Undefined) or isinstance(total, Undefined):
            return dict.fromkeys(("ht_total", "ht_mean", "hajek", "sum_w"))
        return {"ht_total": total, "ht_mean": total / data["N"], "hajek": hajek.value, "sum_w": hajek.weight_sum}
    sizes = [s["N"] for s in data["strata"]]
    if "n" in data:
        neyman = neyman_allocation(data["n"], sizes, [s["S"] for s in data["strata"]])
        proportional = proportional_allocation(data["n"], sizes)
        return {
            "neyman": list(neyman.exact),
            "proportional": list(proportional.exact),
            "neyman_rounded": list(neyman.counts),
            "proportional_rounded": list(proportional.counts),
            "fallback": neyman.fallback,
        }
    mean = stratified_mean([stratum(s, i) for i, s in enumerate(data["strata"])])
    return {
        "mean": number(mean.value),
        "total": number(mean.total),
        "df": mean.df,
        "se": number(mean.se),
        "total_se": number(mean.total_se),
        "ci_t": limits(mean.limits("t")),
        "ci_z": limits(mean.limits("normal")),
    }


def stratum(row: dict[str, Any], index: int) -> Stratum:
    name = row.get("name", str(index))
    if "mean" not in row and "x" in row:
        return Stratum.of_share(name, row["N"], row["n"], row["x"])
    return Stratum(name, row["N"], row["n"], row["mean"], row["var"])


def supermarkets(psi: list[float], totals: list[float]) -> dict[str, Any]:
    inclusion, joint = two_draw_inclusion(psi)
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(psi)]
    pairs = list(combinations(range(len(psi)), 2))
    samples = {}
    for one, two in pairs:
        drawn = [one, two]
        samples[names[one] + names[two]] = {
            "prob": float(joint[one, two]),
            "ht": horvitz_thompson_total(np.array(totals)[drawn], inclusion[drawn]),
            "v_syg": number(
                sen_yates_grundy_variance(np.array(totals)[drawn], inclusion[drawn], joint[np.ix_(drawn, drawn)])
            ),
        }
    rows = list(samples.values())
    return {
        "pi": inclusion.tolist(),
        "pi_ij": {names[one] + names[two]: float(joint[one, two]) for one, two in pairs},
        "samples": samples,
        "expectation": sum(row["prob"] * row["ht"] for row in rows),
        "variance": design_variance(totals, inclusion, joint),
        "expected_syg": None if None in [r["v_syg"] for r in rows] else sum(r["prob"] * r["v_syg"] for r in rows),
    }


# ----------------------------------------------------------------------------------------------------- audited_ufs


def audited(case: Case) -> dict[str, Any]:
    data = case["input"]
    strata = [AuditStratum(s["domain"], s["verdict"], s["N"], s["n"], s["x"]) for s in data["strata"]]
    level = case["params"].get("conf", 0.95)
    result = audited_ufs(strata, domain_weights=data["domain_weight"], target=data["target"], level=level)
    both = limits(result.interval)
    return {
        "value": number(result.value),
        "low": None if both is None else both[0],
        "high": None if both is None else both[1],
        "reason": result.value.reason if isinstance(result.value, Undefined) else None,
    }


# -------------------------------------------------------------------------------------------------------- alt_test


def alt_test(case: Case) -> dict[str, Any]:
    data, params = case["input"], case["params"]
    model, humans = published(data) if "repository" in data else (data["llm"], data["humans"])
    result = alternative_annotator_test(
        model,
        humans,
        epsilon=params["epsilon"],
        scoring=params.get("scoring", "accuracy"),
        q=params.get("q", 0.05),
        min_instances=params.get("min_instances", 30),
        min_humans=params.get("min_humans", 2),
    )
    return outcome(result)


def outcome(result: AlternativeAnnotator) -> dict[str, Any]:
    return {
        "winning_rate": number(result.winning_rate),
        "advantage_probability": number(result.advantage_probability),
        "annotators": {
            one.annotator: {
                "n": one.n,
                "rho_llm": one.rho_model,
                "rho_human": one.rho_human,
                "mean_diff": one.mean_difference,
                "p": one.p_value,
            }
            for one in result.annotators
        },
        "rejected": list(result.rejected),
        "passes": result.passes,
    }


def published(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the labels of a public repository that USERCAL_ALT_TEST points to; skip where it is not there."""
    root = os.environ.get("USERCAL_ALT_TEST")
    if root is None or not (Path(root) / data["human_file"]).is_file():
        pytest.skip(f"set USERCAL_ALT_TEST to a checkout of {data['repository']} at {data['commit']} to run this case")
    human = (Path(root) / data["human_file"]).read_bytes()
    if hashlib.sha256(human).hexdigest() != data["human_sha256"]:
        pytest.skip(f"{data['human_file']} in USERCAL_ALT_TEST is another version than {data['commit']}")
    model = json.loads((Path(root) / data["llm_file"]).read_bytes())
    return model[data["llm_key"]], json.loads(human)


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "sens_spec": sens_spec,
    "rogan_gladen": corrected,
    "ppi_mean": ppi_mean,
    "stratified_estimators": stratified_estimators,
    "audited_ufs": audited,
    "alt_test": alt_test,
}
