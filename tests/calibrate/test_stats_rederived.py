"""Statistics computed a second time, in plain loops over their definitions, on seeded random inputs."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from annotate.errors import InvalidData
from calibrate.agreement import agreement
from calibrate.estimate import Interval, Undefined
from calibrate.stats import correlation
from calibrate.stats.agreement.alpha import alpha
from calibrate.stats.agreement.fleiss import fleiss_kappa
from calibrate.stats.agreement.icc import icc
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.ratings import ratings_of
from calibrate.stats.agreement.two_raters import cohen_kappa_of_table
from calibrate.stats.dependent_correlations import compare_overlapping
from calibrate.stats.intervals import binomial_test
from calibrate.stats.rectify.alternative_annotator import alternative_annotator_test
from calibrate.stats.rectify.audited import AuditStratum, audited_ufs
from calibrate.stats.rectify.prediction_powered import PredictionPowered, prediction_powered_mean
from calibrate.stats.rectify.rogan_gladen import rogan_gladen
from calibrate.stats.rectify.stratified_sample import sen_yates_grundy_variance, two_draw_inclusion
from calibrate.stats.resample import bias_correction

Row = list[int | None]
Matrix = list[list[float]]
Z = 1.959963984540054


def rows_of(rng: np.random.Generator, units: int, raters: int, q: int, missing: float, noise: float) -> list[Row]:
    """Units by raters: a true category, now and then another one or none."""
    truth = rng.integers(1, q + 1, units)
    other = rng.integers(1, q + 1, (units, raters))
    said = np.where(rng.random((units, raters)) < noise, other, truth[:, None])
    gone = rng.random((units, raters)) < missing
    return [[None if gone[i, j] else int(said[i, j]) for j in range(raters)] for i in range(units)]


def value_of(result: Any) -> float | None:
    return None if isinstance(result.value, Undefined) else float(result.value)


def same(got: float | None, expected: float | None, tolerance: float = 1e-9) -> bool:
    if got is None or expected is None:
        return got is expected
    return abs(got - expected) <= max(tolerance, 1e-12 * abs(expected))


# ------------------------------------------------------------------------------------------------------- agreement


def alpha_by_pairs(rows: Sequence[Sequence[int | None]], level: str) -> float | None:
    """α from all pairs of values, in exact fractions."""
    units = [[v for v in row if v is not None] for row in rows]
    units = [unit for unit in units if len(unit) > 1]
    counts = Counter(v for unit in units for v in unit)

    def distance(c: int, k: int) -> Fraction:
        if c == k:
            return Fraction(0)
        if level == "ordinal":
            between = sum(times for value, times in counts.items() if min(c, k) <= value <= max(c, k))
            return (Fraction(between) - Fraction(counts[c] + counts[k], 2)) ** 2
        return {
            "nominal": Fraction(1),
            "interval": Fraction((c - k) ** 2),
            "ratio": Fraction((c - k) ** 2, (c + k) ** 2),
        }[level]

    expected = sum((counts[c] * counts[k] * distance(c, k) for c in counts for k in counts), Fraction(0))
    if expected == 0:
        return None
    seen = sum(
        (sum((distance(a, b) for a, b in itertools.permutations(u, 2)), Fraction(0)) / (len(u) - 1) for u in units),
        Fraction(0),
    )
    return float(1 - (counts.total() - 1) * seen / expected)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", range(12))
def test_alpha_is_that_of_all_pairs(level: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, int(rng.choice([1, 3, 12])), int(rng.choice([2, 3, 5])), 4, float(rng.choice([0, 0.5])), 0.5)
    assert same(value_of(alpha(ratings_of(rows, level=level))), alpha_by_pairs(rows, level))


def weight_rows(q: int, weights: str | None) -> Matrix:
    power = {"linear": 1, "quadratic": 2}.get(weights or "", 0)
    return [[(1 - (abs(a - b) / (q - 1)) ** power) if power else float(a == b) for b in range(q)] for a in range(q)]


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(8))
def test_kappa_and_its_errors(weights: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = int(rng.choice([2, 3, 5]))
    table = rng.integers(0, 9, (q, q)) + 12 * np.eye(q, dtype=int)
    w, cells, n = weight_rows(q, weights), list(itertools.product(range(q), repeat=2)), int(table.sum())
    p, first, second = table / n, table.sum(axis=1) / n, table.sum(axis=0) / n
    seen = sum(w[i][j] * p[i, j] for i, j in cells)
    chance = sum(w[i][j] * first[i] * second[j] for i, j in cells)
    kappa = (seen - chance) / (1 - chance)
    mean = {(i, j): sum(second[k] * w[i][k] + first[k] * w[k][j] for k in range(q)) for i, j in cells}
    spread = sum(p[i, j] * (w[i][j] - mean[i, j] * (1 - kappa)) ** 2 for i, j in cells)
    null = sum(first[i] * second[j] * (w[i][j] - mean[i, j]) ** 2 for i, j in cells)
    got = cohen_kappa_of_table(table, weights=weights)
    assert same(value_of(got), kappa)
    assert same(got.se, math.sqrt((spread - (kappa - chance * (1 - kappa)) ** 2) / n) / (1 - chance))
    assert same(got.se_null, math.sqrt((null - chance**2) / n) / (1 - chance))


def coefficients(rows: list[list[int]], often: Sequence[float], w: Matrix) -> dict[str, float]:
    """The coefficients of complete ratings, each unit counted as often as told."""
    q, raters, total = len(w), range(len(rows[0])), sum(often)
    shares = [[sum(o for row, o in zip(rows, often, strict=True) if row[g] == k + 1) / total for k in range(q)]
              for g in raters]  # fmt: skip
    pairs = list(itertools.permutations(raters, 2))
    seen = sum(o * sum(w[r[g] - 1][r[h] - 1] for g, h in pairs) for r, o in zip(rows, often, strict=True))
    seen /= total * len(pairs)
    pi = [sum(shares[g][k] for g in raters) / len(raters) for k in range(q)]
    cells = list(itertools.product(range(q), repeat=2))
    whole = sum(map(sum, w))
    chance = {
        "ac": whole * sum(v * (1 - v) for v in pi) / (q * (q - 1)),
        "bp": whole / q**2,
        "fleiss": sum(w[a][b] * pi[a] * pi[b] for a, b in cells),
        "conger": sum(w[a][b] * shares[g][a] * shares[h][b] for g, h in pairs for a, b in cells) / len(pairs),
    }
    return {"pa": seen} | {name: (seen - e) / (1 - e) for name, e in chance.items()}


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("raters", [2, 3])
def test_gwets_errors_are_the_infinitesimal_jackknife(weights: Any, raters: int) -> None:
    rows = [[v or 1 for v in row] for row in rows_of(np.random.default_rng(raters), 9, raters, 3, 0.0, 0.4)]
    w, n, step = weight_rows(3, weights), len(rows), 1e-4
    influence: dict[str, list[float]] = defaultdict(list)
    for unit in range(n):
        up, down = ([1.0 + sign * step * (i == unit) for i in range(n)] for sign in (1, -1))
        high, low = coefficients(rows, up, w), coefficients(rows, down, w)
        for name in high:
            influence[name].append((high[name] - low[name]) / (2 * step) * n)
    got = gwet(ratings_of(rows, level="nominal", categories=[1, 2, 3]), weights)
    for name, expected in coefficients(rows, [1.0] * n, w).items():
        assert same(value_of(got[name]), expected), name
        assert same(got[name].se, math.sqrt(sum(v * v for v in influence[name]) / (n * (n - 1))), 1e-7), name


@pytest.mark.parametrize("seed", range(6))
def test_fleiss_with_missing_ratings(seed: int) -> None:
    rows = rows_of(np.random.default_rng(seed), 10, 4, 3, 0.4, 0.4)
    held = [[v for v in row if v is not None] for row in rows if any(v is not None for v in row)]
    pairs = [list(itertools.combinations(unit, 2)) for unit in held if len(unit) > 1]
    seen = sum(sum(a == b for a, b in own) / len(own) for own in pairs) / len(pairs)
    pi = [sum(unit.count(k) / len(unit) for unit in held) / len(held) for k in (1, 2, 3)]
    chance = sum(v * v for v in pi)
    assert same(
        value_of(fleiss_kappa(ratings_of(rows, level="nominal", categories=[1, 2, 3]))), (seen - chance) / (1 - chance)
    )


def test_no_units_are_too_few_and_no_error() -> None:
    for nothing in ([], np.zeros((0, 3))):
        assert value_of(fleiss_kappa(nothing)) is None


@pytest.mark.parametrize("seed", range(6))
def test_icc_from_the_analysis_of_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([4, 9])), int(rng.choice([2, 4]))
    y = rng.normal(size=(n, 1)) * 2 + rng.normal(size=(1, k)) + rng.normal(size=(n, k))
    between = k * sum((row.mean() - y.mean()) ** 2 for row in y) / (n - 1)
    judges = n * sum((column.mean() - y.mean()) ** 2 for column in y.T) / (k - 1)
    within = sum(((row - row.mean()) ** 2).sum() for row in y) / (n * (k - 1))
    error = (within * n * (k - 1) - judges * (k - 1)) / ((n - 1) * (k - 1))
    got = icc(ratings_of(y.tolist(), level="interval"))
    wanted = {
        "icc_1_1": (between - within) / (between + (k - 1) * within),
        "icc_2_1": (between - error) / (between + (k - 1) * error + k * (judges - error) / n),
        "icc_3_1": (between - error) / (between + (k - 1) * error),
        "icc_1_k": (between - within) / between,
        "icc_2_k": (between - error) / (between + (judges - error) / n),
        "icc_3_k": (between - error) / between,
    }
    assert all(same(value_of(got[name]), expected) for name, expected in wanted.items())
    low = between / error / stats.f.ppf(0.975, n - 1, (n - 1) * (k - 1))
    limits = got["icc_3_k"].interval
    assert isinstance(limits, Interval) and same(limits.low, 1 - 1 / low, 1e-7)


@pytest.mark.parametrize("size", [1, 3])
def test_intervals_of_a_table_are_those_of_a_plain_loop(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = rows_of(rng, 60, 3, 3, 0.1, 0.45)
    frame = pd.DataFrame(rows, columns=["ann", "bo", "cy"]).assign(
        item=range(60), person=[f"p{i // size}" for i in range(60)]
    )
    made = agreement(frame, level="nominal", categories=[1, 2, 3], cluster="person", resamples=4000)
    found = made.overall.estimates["alpha_nominal"]
    drawn = []
    for _ in range(1500):
        units = [rows[size * g + i] for g in rng.integers(0, 60 // size, 60 // size) for i in range(size)]
        drawn.append(alpha_by_pairs(units, "nominal") or 0.0)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.value == pytest.approx(alpha_by_pairs(rows, "nominal"), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.35 * float(np.std(drawn)))


# ------------------------------------------------------------------------------------------- correlations and tests


def test_two_pairs_have_a_correlation_only_where_it_is_asked_for() -> None:
    for made in (correlation.spearman, correlation.pearson, correlation.kendall):
        assert isinstance(made([1, 2], [2, 1]), Undefined)
        assert made([1, None, 2], [2, 5, 1], least=2) == pytest.approx(-1.0)
        assert isinstance(made([1, 1], [2, 1], least=2), Undefined)
        with pytest.raises(InvalidData):
            made([1, 2, 3], [2, 1, 3], least=1)
    assert [correlation.kendall([1, 2], [2, 3], letter, least=2) for letter in ("a", "b", "c")] == [1.0, 1.0, 1.0]  # type: ignore[arg-type]
    assert correlation.kendall([1, 1], [2, 3], "a", least=2) == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_dependent_correlations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r = np.corrcoef(rng.normal(size=(3, 3)) @ rng.normal(size=(3, 40)))
    a, b, c, n = float(r[0, 1]), float(r[0, 2]), float(r[1, 2]), 40
    got = compare_overlapping(a, b, c, n)
    det, mean = 1 + 2 * a * b * c - a * a - b * b - c * c, (a + b) / 2
    t = (a - b) * math.sqrt((n - 1) * (1 + c) / (2 * (n - 1) / (n - 3) * det + mean**2 * (1 - c) ** 3))
    square = (a * a + b * b) / 2
    h = (1 - min(1.0, (1 - c) / (2 * (1 - square))) * square) / (1 - square)
    z = (math.atanh(a) - math.atanh(b)) * math.sqrt((n - 3) / (2 * (1 - c) * h))
    both = c * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - c * c) / 2
    steiger = (math.atanh(a) - math.atanh(b)) * math.sqrt((n - 3) / (2 - 2 * both / (1 - mean**2) ** 2))
    for test, expected in ((got.williams, t), (got.meng, z), (got.steiger, steiger)):
        assert not isinstance(test, Undefined) and same(test.statistic, expected, 1e-8)


@pytest.mark.parametrize(("n", "chance"), [(7, "1/2"), (12, "1/3"), (19, "9/10"), (5, "0"), (5, "1")])
def test_the_exact_binomial_test_in_fractions(n: int, chance: str) -> None:
    p = Fraction(chance)
    each = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    for x in range(n + 1):
        got = binomial_test(x, n, float(p))
        assert not isinstance(got, Undefined) and same(got, float(sum(v for v in each if v <= each[x])), 1e-9)


def test_ties_in_the_bias_correction() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, 4.0])
    assert bias_correction(2.0, values) == pytest.approx(stats.norm.ppf(0.4))
    assert bias_correction(2.0, values, ties="none") == pytest.approx(stats.norm.ppf(0.2))
    assert isinstance(bias_correction(1.0, values, ties="none"), Undefined)


# ---------------------------------------------------------------------------------------------- correction of a judge


def wilson(share: float, n: int) -> tuple[float, float]:
    middle, scale = share + Z * Z / (2 * n), 1 + Z * Z / n
    half = Z * math.sqrt(max(share * (1 - share), 0.0) / n + Z * Z / (4 * n * n))
    return (middle - half) / scale if share > 0 else 0.0, (middle + half) / scale if share < 1 else 1.0


def audited_by_hand(
    strata: list[AuditStratum], weights: dict[str, float] | None, target: str
) -> tuple[float, float, float]:
    """θ and the limits of the pooled-Jeffreys MOVER interval."""
    sizes = Counter({s.domain: 0 for s in strata})
    for s in strata:
        sizes[s.domain] += s.judged
    omega = weights or {d: size / sizes.total() for d, size in sizes.items()}
    own = [(s, omega[s.domain] * s.judged / sizes[s.domain]) for s in strata if s.judged]
    theta, below, above = sum(w * s.passed / s.audited for s, w in own), 0.0, 0.0
    for verdict in {s.verdict for s, _ in own}:
        part = [(s, w) for s, w in own if s.verdict == verdict]
        whole = sum(w for _, w in part)
        noise = sum(w * w * (s.judged - s.audited) / (s.audited * (s.judged - 1)) for s, w in part if s.judged > 1)
        if noise == 0:
            continue
        none, every = all(s.passed == 0 for s, _ in part), all(s.passed == s.audited for s, _ in part)
        p = 1.0 if every else sum(w * s.passed / s.audited for s, w in part) / whole
        n = whole**2 / noise
        low, high = stats.beta.ppf([0.025, 0.975], p * n + 0.5, (1 - p) * n + 0.5)
        below += 0.0 if none else (whole * (p - low)) ** 2
        above += 0.0 if every else (whole * (high - p)) ** 2
    for domain, size in sizes.items() if target == "tasks" else ():
        share = sum(s.judged / size * s.passed / s.audited for s, _ in own if s.domain == domain)
        low, high = wilson(min(share, 1.0) if share < 1 - 1e-12 else 1.0, size)
        below += (omega[domain] * (share - low)) ** 2
        above += (omega[domain] * (high - share)) ** 2
    return theta, max(theta - math.sqrt(below), 0.0), min(theta + math.sqrt(above), 1.0)


@pytest.mark.parametrize("target", ["finite", "tasks"])
def test_audited_ufs_of_a_hundred_designs(target: Any) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        strata = []
        domains = "abcd"[: int(rng.integers(1, 5))]
        for domain, verdict in itertools.product(domains, ("pass", "fail", "flagged")):
            judged = int(rng.choice([0, 1, 2, 30, 200], p=[0.05, 0.05, 0.1, 0.4, 0.4])) if verdict != "pass" else 50
            audited = judged if verdict == "flagged" or rng.random() < 0.2 else int(rng.integers(0, judged + 1))
            audited = max(audited, min(judged, 1))
            kept = int(rng.choice([0, audited, rng.binomial(audited, 0.9 if verdict == "pass" else 0.3)]))
            strata.append(AuditStratum(domain, verdict, judged, audited, kept))
        weights = {d: 1 / len(domains) for d in domains} if rng.random() < 0.5 else None
        got = audited_ufs(strata, domain_weights=weights, target=target)
        value, low, high = audited_by_hand(strata, weights, target)
        assert isinstance(got.interval, Interval) and not isinstance(got.value, Undefined)
        assert (got.value, got.interval.low, got.interval.high) == pytest.approx((value, low, high), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_lang_and_reiczigel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, a, b = 200, 20, 40
    x, tp, tn = int(rng.integers(0, n + 1)), int(rng.integers(14, a + 1)), int(rng.integers(28, b + 1))
    got = rogan_gladen(positive=x, n=n, tp=tp, n_pos=a, tn=tn, n_neg=b)
    m, se, sp = n + Z * Z, (tp + 1) / (a + 2), (tn + 1) / (b + 2)
    ap = (x + Z * Z / 2) / m
    p = (ap + sp - 1) / (se + sp - 1)
    v1, v0 = se * (1 - se) / (a + 2), sp * (1 - sp) / (b + 2)
    middle = p + 2 * Z * Z * (p * v1 - (1 - p) * v0)
    half = Z * math.sqrt(ap * (1 - ap) / m + p * p * v1 + (1 - p) ** 2 * v0) / (se + sp - 1)
    limits = got.lang_reiczigel_raw
    assert isinstance(limits, Interval)
    assert (limits.low, limits.high) == pytest.approx((middle - half, middle + half), abs=1e-9)


@pytest.mark.parametrize("others", [1, 2, 30])
@pytest.mark.parametrize("seed", range(4))
def test_prediction_powered_mean_as_ppi_python_has_it(others: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, g = rng.normal(size=12), rng.normal(size=others)
    f = y + rng.normal(size=12)
    got = prediction_powered_mean(y, f, g, ddof=0)
    assert isinstance(got, PredictionPowered)
    lam = np.cov(y, f, ddof=0)[0, 1] / ((1 + 12 / others) * np.var([*f, *g], ddof=1))
    lam = min(max(float(lam), 0.0), 1.0)
    assert same(got.value, float(lam * g.mean() + (y - lam * f).mean()))
    assert same(got.se, math.sqrt(lam**2 * float(np.var(g)) / others + float(np.var(y - lam * f)) / 12))


def test_a_sample_of_everything_has_no_variance() -> None:
    inclusion, joint = two_draw_inclusion([1 / 3, 2 / 3])
    assert sen_yates_grundy_variance([1.0, 2.0], inclusion, joint) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_alternative_annotator(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 45)
    shift = {f"h{j}": float(rng.choice([0.1, 0.4])) for j in range(4)} | {"model": float(rng.choice([0.1, 0.3, 0.6]))}
    said = {who: {f"i{i}": int(rng.integers(0, 3)) if rng.random() < noise else int(t) for i, t in enumerate(truth)}
            for who, noise in shift.items()}  # fmt: skip
    model = said.pop("model")
    p = {}
    for who, own in said.items():
        gaps = []
        for item, label in own.items():
            rest = [other[item] for name, other in said.items() if name != who]
            human, machine = rest.count(label), rest.count(model[item])
            gaps.append(int(human >= machine) - int(machine >= human))
        p[who] = float(stats.ttest_1samp(gaps, 0.2, alternative="less").pvalue)
    ordered, harmonic = sorted(p, key=lambda who: p[who]), sum(1 / i for i in range(1, 5))
    last = max((i for i, who in enumerate(ordered, 1) if p[who] <= i / 4 * 0.05 / harmonic), default=0)
    got = alternative_annotator_test(model, said, epsilon=0.2)
    assert {one.annotator: one.p_value for one in got.annotators} == pytest.approx(p, abs=1e-9)
    assert list(got.rejected) == sorted(ordered[:last]) and got.winning_rate == last / 4
