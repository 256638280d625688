"""A mean from few human values and many judge values: classical, PPI and PPI++.

For a labelled sample (y human, f judge, n rows) and a disjoint unlabelled one (f, N rows)

    θ_λ = λ mean_N(f) + mean_n(y − λ f),  Var θ_λ = Var_n(y − λ f)/n + λ² Var_N(f)/N,

with λ = 0 classical, λ = 1 PPI (Angelopoulos et al., Science 382:669, 2023), and PPI++ with λ = Cov_n(y, f) / ((1 +
n/N) Var f), cut to 0..1 (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453, 2023, section 6). The same λ
stands in estimate, limits and test. Limits are normal (t by cluster), and poor for shares near 0 or 1: an audit of 0/1
outcomes uses `calibrate.stats.rectify.audited`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import LARGEST, as_labels
from calibrate.stats.intervals import normal_quantile, t_quantile
from calibrate.stats.rectify.rectified import Rectified

FloatArray = NDArray[np.float64]
Estimator = Literal["classical", "ppi", "ppi++", "regression"]
Alternative = Literal["two-sided", "larger", "smaller"]
NO_SPREAD = Undefined("neither labels nor predictions vary: the spread cannot be told")


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits of which one may be open: None = no limit on that side."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """A mean with its standard error. lam: weight of the judge; lam_unclipped: before the cut, None where 0/0.

    estimator: what the value is, which is "classical" wherever predictions cannot help, and then `remark` says why.
    df: degrees of freedom of Student's t, None = normal.
    """

    value: float
    se: float
    lam: float
    lam_unclipped: float | None
    estimator: Estimator
    labelled: int
    judged: int
    target: str
    df: int | None = None
    clusters: int | None = None
    remark: str | None = None

    @property
    def method(self) -> str:
        """Estimator, weight and kind of limits in words."""
        by = "normal limits" if self.df is None else f"cluster-robust limits, t with {self.df} df"
        weight = "" if self.estimator in ("classical", "ppi") else f" (λ = {self.lam:.3f})"
        return f"{self.estimator} mean{weight}; {by}"

    def limits(self, level: float = 0.95) -> Interval | Undefined:
        """Return value ± quantile · se; undefined where nothing varies."""
        if self.se == 0.0:
            return NO_SPREAD
        reach = self._quantile(0.5 + level / 2) * self.se
        return Interval(self.value - reach, self.value + reach)

    def bound(self, alternative: Alternative, level: float = 0.95) -> Bound | Undefined:
        """Return the limits that belong to `alternative`: *larger* has no upper, *smaller* no lower limit."""
        if self.se == 0.0:
            return NO_SPREAD
        if alternative == "two-sided":
            both = self.limits(level)
            return both if isinstance(both, Undefined) else Bound(both.low, both.high)
        reach = self._quantile(level) * self.se
        _check_alternative(alternative)
        return Bound(self.value - reach, None) if alternative == "larger" else Bound(None, self.value + reach)

    def p_value(self, null: float, alternative: Alternative = "two-sided") -> float | Undefined:
        """Return the test of the mean against `null`, with the λ of the value."""
        from scipy.special import ndtr, stdtr

        _check_alternative(alternative)
        if self.se == 0.0:
            return NO_SPREAD
        z = (self.value - null) / self.se
        signed = {"two-sided": -abs(z), "larger": -z, "smaller": z}[alternative]
        tail = float(ndtr(signed) if self.df is None else stdtr(self.df, signed))
        return min(1.0, 2 * tail) if alternative == "two-sided" else tail

    def rectified(self, level: float = 0.95) -> Rectified:
        """Return value and limits as a `Rectified`."""
        return Rectified(
            name="prediction_powered_mean", value=self.value, n=self.labelled, method=self.method, target=self.target,
            interval=self.limits(level), level=level, se=self.se, clusters=self.clusters, remark=self.remark,
            extra={"lambda": self.lam, "judged": self.judged},
        )  # fmt: skip

    def _quantile(self, probability: float) -> float:
        level = 2 * probability - 1
        return normal_quantile(level) if self.df is None else t_quantile(level, self.df)


def prediction_powered_mean(
    human: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    *,
    estimator: Literal["classical", "ppi", "ppi++"] = "ppi++",
    ddof: int = 1,
    cluster: ArrayLike | None = None,
    cluster_unlabelled: ArrayLike | None = None,
) -> PredictionPowered | Undefined:
    """Return the mean human value of rows like these: `human`, `judge` of shape (labelled,), `judge_unlabelled` (row,).

    The two samples share no row. `ddof` is that of the variances (ppi-python: 0); λ always has ddof 0 in the covariance
    and 1 in the variance over both samples. With clusters (labels of shape (labelled,) and (row,); a label that stands
    on both sides is one cluster) the standard error sums residuals within clusters first, with factor G/(G − 1) and t
    with the smaller G − 1 df; λ stays. Constant predictions or no unlabelled row: classical, and `remark` says so.
    Undefined: fewer than two labelled rows or clusters. `InvalidData`: unequal lengths, a value not finite.

    Source: equations above. ppi-python 0.2.3 gives .6288 and .0994 (ddof 0) for:

    >>> y = [1, 0, 1, 1, 0, 1]
    >>> others = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0]
    >>> mean = prediction_powered_mean(y, y, others, ddof=0)
    >>> round(mean.value, 4), round(mean.se, 4), round(mean.lam, 4)
    (0.6288, 0.0994, 0.6815)
    """
    y, f = _pair(human, judge)
    g = _finite(judge_unlabelled, "unlabelled judge values")
    n, big = len(y), len(g)
    sides = _sides(cluster, cluster_unlabelled, n, big)
    trouble = _too_few(n, ddof, sides)
    if trouble is not None:
        return trouble
    lam, unclipped, used, remark = _lambda(y, f, g, estimator)
    value = float((y - lam * f).mean() + (lam * g.mean() if lam else 0.0))
    residual, far = y - lam * f, lam * g
    if sides is None:
        variance = float(residual.var(ddof=ddof)) / n
        if lam:
            spread = far.var(ddof=ddof) if big > ddof else lam**2 * f.var(ddof=ddof)  # no spread of its own
            variance += float(spread) / big
        df = clusters = None
    else:
        variance, clusters = _cluster_variance(residual, far if lam else far[:0], sides, bool(lam))
        df = clusters - 1
    return PredictionPowered(
        value=value, se=_root(variance, y, f, g), lam=lam, lam_unclipped=unclipped, estimator=used, labelled=n,
        judged=n + big, target="rows like those judged", df=df, clusters=clusters, remark=remark,
    )  # fmt: skip


def nested_mean(
    human: ArrayLike,
    judge: ArrayLike,
    judge_all: ArrayLike,
    *,
    target: Literal["finite", "superpopulation"] = "finite",
    ddof: int = 1,
    cluster: ArrayLike | None = None,
) -> PredictionPowered | Undefined:
    """Return the mean human value of a judged set of which a random part was labelled: regression on the judge.

    `human`, `judge` have the shape (labelled,), `judge_all` (row,) holds every judged row, the labelled ones too.
    λ = Cov_n(y, f)/Var_n(f), not cut; for 0/1 judges θ is post-stratification by verdict. *finite*: Var = (1 − n/N)
    Var_n(y − λf)/n, 0 for a census; *superpopulation* adds Var_n(y)/N. With `cluster` (clusters drawn whole) residuals
    are summed within clusters first. Constant predictions among the labelled rows: classical, said. Undefined: fewer
    than two labelled rows or clusters. `InvalidData`: unequal lengths, a value not finite, more labelled than judged
    rows.

    Source: Cochran, Sampling Techniques (1977), chapter 7 (regression estimator), section 5A.9 (post-strata).

    >>> mean = nested_mean([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 0, 0], [1] * 60 + [0] * 40)
    >>> round(mean.value, 4)  # .6 · 2/3 + .4 · 1/3
    0.5333
    """
    y, f = _pair(human, judge)
    every = _finite(judge_all, "judge values")
    n, big = len(y), len(every)
    if n > big:
        raise InvalidData(f"labelled rows are part of the judged ones, got {n} of {big}: give all judge values")
    if target not in ("finite", "superpopulation"):
        raise InvalidData(f"a target must be finite or superpopulation, got {target!r}: choose one of them")
    sides = _sides(cluster, None, n, 0)
    trouble = _too_few(n, ddof, sides)
    if trouble is not None:
        return trouble
    spread = float(((f - f.mean()) ** 2).mean())
    flat = spread <= 1e-24 * max(1.0, float(np.abs(f).max()) ** 2)
    lam = 0.0 if flat else float(((f - f.mean()) * (y - y.mean())).mean()) / spread
    residual = (y - lam * f) - float((y - lam * f).mean())
    left = 1.0 - n / big
    if sides is None:
        within, own = float((residual**2).sum()) / (n - ddof) / n, float(y.var(ddof=ddof)) / n
        df = clusters = None
    else:
        within, clusters = _cluster_variance(residual, residual[:0], sides, False)
        own, _ = _cluster_variance(y - y.mean(), residual[:0], sides, False)
        df = clusters - 1
    variance = left * within + (own * n / big if target == "superpopulation" else 0.0)
    return PredictionPowered(
        value=float(y.mean() + lam * (every.mean() - f.mean())), se=_root(variance, y, f, every), lam=lam,
        lam_unclipped=None if flat else lam, estimator="classical" if flat else "regression", labelled=n, judged=big,
        target="these judged rows" if target == "finite" else "rows like those judged", df=df, clusters=clusters,
        remark=CONSTANT if flat else None,
    )  # fmt: skip


CONSTANT = "the judge says the same everywhere: the classical mean of the labelled rows"
NO_ROWS = "no unlabelled row: the classical mean of the labelled rows"


@dataclass(frozen=True, slots=True)
class _Sides:
    near: NDArray[np.int64]
    far: NDArray[np.int64]
    near_count: int
    far_count: int
    shared: bool


def _lambda(
    y: FloatArray, f: FloatArray, g: FloatArray, asked: Literal["classical", "ppi", "ppi++"]
) -> tuple[float, float | None, Estimator, str | None]:
    """Return λ, λ before the cut, the estimator in effect, and why it is classical where it was not asked for."""
    if asked not in ("classical", "ppi", "ppi++"):
        raise InvalidData(f"the estimator must be classical, ppi or ppi++, got {asked!r}: choose one of them")
    if asked == "classical":
        return 0.0, None, "classical", None
    if len(g) == 0:
        return 0.0, None, "classical", NO_ROWS
    if asked == "ppi":
        return 1.0, 1.0, "ppi", None
    pooled = np.concatenate([f, g])
    if float(np.ptp(pooled)) <= 1e-12 * float(np.abs(pooled).max()):
        return 0.0, None, "classical", CONSTANT
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    unclipped = covariance / ((1.0 + len(y) / len(g)) * float(pooled.var(ddof=1)))
    return float(np.clip(unclipped, 0.0, 1.0)), unclipped, "ppi++", None


def _cluster_variance(near: FloatArray, far: FloatArray, sides: _Sides, with_far: bool) -> tuple[float, int]:
    """Return the cluster-robust variance of mean(near) + mean(far), and the smaller number of clusters."""
    first = np.bincount(sides.near, weights=near - near.mean(), minlength=sides.near_count) / len(near)
    if not with_far:
        sums = first[: sides.near_count]
        used = len(np.unique(sides.near))
        return float(used / (used - 1) * (sums**2).sum()), used
    second = np.bincount(sides.far, weights=far - far.mean(), minlength=sides.far_count) / len(far)
    one, two = len(np.unique(sides.near)), len(np.unique(sides.far))
    if sides.shared:
        count = len(np.unique(np.concatenate([sides.near, sides.far])))
        width = max(len(first), len(second))
        joint = np.pad(first, (0, width - len(first))) + np.pad(second, (0, width - len(second)))
        return float(count / (count - 1) * (joint**2).sum()), min(one, two)
    return float(one / (one - 1) * (first**2).sum() + two / (two - 1) * (second**2).sum()), min(one, two)


def _sides(cluster: ArrayLike | None, other: ArrayLike | None, n: int, big: int) -> _Sides | None:
    from calibrate.stats.resample import cluster_codes

    if cluster is None and other is None:
        return None
    if cluster is None or (other is None and big > 0):
        raise InvalidData("clusters are needed for labelled and for unlabelled rows: give both, or neither")
    near = as_labels(cluster, "clusters").astype(object)
    far = as_labels([] if other is None else other, "clusters").astype(object)
    if near.shape != (n,) or far.shape != (big,):
        raise InvalidData(
            f"every row needs a cluster, got {near.shape} and {far.shape} for {n} and {big}: give one each"
        )
    codes, count = cluster_codes(np.concatenate([near, far]))
    shared = bool(np.intersect1d(codes[:n], codes[n:]).size)
    return _Sides(codes[:n], codes[n:], count, count, shared)


def _too_few(n: int, ddof: int, sides: _Sides | None) -> Undefined | None:
    if ddof not in (0, 1):
        raise InvalidData(f"ddof must be 0 or 1, got {ddof!r}: 1 divides by n − 1")
    if n < 2:
        return Undefined(f"{n} labelled rows are too few (at least 2)")
    if sides is not None and len(np.unique(sides.near)) < 2:
        return Undefined("the labelled rows lie in one cluster: their spread cannot be told")
    if sides is not None and len(sides.far) and len(np.unique(sides.far)) < 2:
        return Undefined("the unlabelled rows lie in one cluster: their spread cannot be told")
    return None


def _root(variance: float, *values: FloatArray) -> float:
    """Return √variance, exactly 0 where only rounding is left."""
    scale = max((float(np.abs(v).max()) for v in values if len(v)), default=1.0)
    root = float(np.sqrt(max(variance, 0.0)))
    return 0.0 if root <= 1e-13 * scale else root


def _pair(human: ArrayLike, judge: ArrayLike) -> tuple[FloatArray, FloatArray]:
    y, f = _finite(human, "human values"), _finite(judge, "judge values")
    if len(y) != len(f):
        raise InvalidData(f"every labelled row needs both values, got {len(y)} and {len(f)}: give arrays of one length")
    return y, f


def _finite(values: ArrayLike, what: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{what} must be one finite number a row, got text or ragged rows: convert them") from error
    if float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) > LARGEST:
        raise InvalidData(f"{what} must be at most {LARGEST:g} in size: rescale them")
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidData(f"{what} must be one finite number a row: drop rows with missing values first")
    return array


def _check_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "larger", "smaller"):
        raise InvalidData(f"an alternative must be two-sided, larger or smaller, got {alternative!r}: choose one")
