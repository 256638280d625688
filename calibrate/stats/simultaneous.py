"""Simultaneous one-sided bounds: how many standard errors hold for several estimates at once (max-t)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
NORMAL_DRAWS = 20_000  # the 95 % quantile of their maximum has a standard error of about .015


def max_t_critical(replicates: FloatArray, level: float, rng: Generator) -> float:
    """Return c with P(max_j Z_j ≤ c) = level, Z normal with the correlations of the replicates, shape (resample, j).

    It is the critical value of simultaneous lower (or upper) bounds of estimates that move together. A column that
    never varies, or varies alone, counts as independent of the others; resamples with an undefined value are left out.
    c is at least the one-sided normal quantile (one estimate) and at most that of independent estimates, up to the
    error of the draws. The normal distribution stands for the replicates' own maximum because of proportions near 1:
    there replicates cannot rise far, their maximum is too small, and bounds built on it claim too much.
    Source: Hothorn, Bretz and Westfall 2008, section 3, one-sided.

    By hand, one estimate alone has the one-sided normal quantile:

    >>> round(max_t_critical(np.array([[1.0], [2.0]]), 0.95, np.random.default_rng(1)), 4)
    1.6449
    """
    from scipy.special import ndtri

    single = float(ndtri(level))
    kept = replicates[np.isfinite(replicates).all(axis=1)]
    if replicates.shape[1] < 2 or len(kept) < 2:
        return single
    root = np.linalg.cholesky(correlations(kept) + 1e-9 * np.eye(kept.shape[1]))
    draws = rng.standard_normal((NORMAL_DRAWS, kept.shape[1])) @ root.T
    return max(single, float(np.quantile(draws.max(axis=1), level)))


def correlations(replicates: FloatArray) -> FloatArray:
    """Return the correlations of columns, 0 with a column that does not vary, shape (column, column).

    >>> correlations(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0]])).round(6).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    centred = replicates - replicates.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    varies = spread > 1e-12
    unit = np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)
    found = unit.T @ unit / len(replicates)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
