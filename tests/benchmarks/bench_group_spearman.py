"""What resamples of a group-level correlation cost: `python tests/benchmarks/bench_group_spearman.py [resamples]`.

450 made-up conversations of 110 people with nine assistants at three levels: Spearman's ρ over the 27 group means in
10,000 resamples (or as many as given) of the people, against a loop over `scipy.stats.spearmanr` that is given a few
hundred of the same resamples and scaled. Prints medians of three rounds. The limits: 10,000 in at most 2 s, and at
least 20 times as fast as the loop, in seconds of the processor, both on one thread.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads that wait for each other count as time of the processor

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from scipy.stats import spearmanr  # noqa: E402

from calibrate.stats.grouped import Rows, bootstrap, resampled_z  # noqa: E402
from calibrate.stats.normalise import fit_scales  # noqa: E402
from calibrate.stats.resample import cluster_weights  # noqa: E402

CONVERSATIONS, PEOPLE, ASSISTANTS, LEVELS = 450, 110, 9, 3
RESAMPLES, LOOP_RESAMPLES, ROUNDS = 10_000, 300, 3
MOST_SECONDS, LEAST_RATIO = 2.0, 20.0


def made_up() -> Rows:
    """Return made-up ratings of all conversations, most people rating a few."""
    rng = np.random.default_rng(0)
    cell = np.arange(CONVERSATIONS) % (ASSISTANTS * LEVELS)
    person = np.concatenate([np.arange(PEOPLE), rng.integers(0, PEOPLE, CONVERSATIONS - PEOPLE)])
    quality = rng.normal(0, 0.7, ASSISTANTS * LEVELS)
    human = np.clip(np.round(7 + quality[cell] + rng.normal(0, 1.5, CONVERSATIONS)), 1, 10)
    simulated = np.clip(np.round(7 + quality[cell] + rng.normal(0, 1.2, CONVERSATIONS)), 1, 10)
    scales = fit_scales(person, human)
    codes = scales.codes(person)
    return Rows(codes, cell // LEVELS, cell, human, scales.z(person, human), simulated, codes, human, scales)


def looped(rows: Rows, resamples: int) -> list[list[float]]:
    """Return ρ on raw ratings and on z-scores, one `spearmanr` at a time, in the resamples that `bootstrap` draws."""
    drawn = cluster_weights(len(rows.scales.annotators), resamples, np.random.default_rng(1))
    values: list[list[float]] = [[], []]
    for times, z in zip(drawn, resampled_z(rows, drawn), strict=True):
        weight = times[rows.person]
        size = np.bincount(rows.cell, weights=weight)
        kept = size > 0
        means = [np.bincount(rows.cell, weights=weight * side)[kept] for side in (rows.human, z, rows.simulated)]
        raw, scored, simulated = (np.round(total / size[kept], 10) for total in means)
        for column, human in zip(values, (raw, scored), strict=True):
            column.append(float(spearmanr(human, simulated).statistic))
    return values


def ours(rows: Rows, resamples: int) -> list[list[float]]:
    """Return the same by `bootstrap`, all resamples at once."""
    levels, coefficients = ("intermediate",), ("spearman",)
    draws = bootstrap(rows, resamples, np.random.default_rng(1), levels=levels, coefficients=coefficients)
    return [draws["intermediate", "spearman", scores].values.tolist() for scores in ("raw", "z")]


def timed(way: Callable[[Rows, int], list[list[float]]], rows: Rows, resamples: int) -> tuple[float, float]:
    """Return seconds, and seconds of the processor, that a way takes: medians of three rounds."""
    rounds = []
    for _ in range(ROUNDS):
        start, used = time.perf_counter(), time.process_time()
        way(rows, resamples)
        rounds.append((time.perf_counter() - start, time.process_time() - used))
    return median(wall for wall, _ in rounds), median(cpu for _, cpu in rounds)


def main() -> int:
    """Print the figures; 1 where a limit is missed."""
    resamples = int(sys.argv[1]) if len(sys.argv) > 1 else RESAMPLES
    rows = made_up()
    if not np.allclose(ours(rows, LOOP_RESAMPLES), looped(rows, LOOP_RESAMPLES), rtol=0, atol=1e-9):
        print("the two ways do not agree")
        return 1
    seconds, processor = timed(ours, rows, resamples)
    ratio = timed(looped, rows, LOOP_RESAMPLES)[1] * resamples / LOOP_RESAMPLES / processor
    limit = MOST_SECONDS * resamples / RESAMPLES
    print(
        f"ρ over 27 groups, {CONVERSATIONS} conversations, {resamples:,} resamples, raw and z: {seconds:.2f} s", end=""
    )
    print(f" (limit {limit:g}), {processor:.2f} s of the processor; a loop over scipy.stats.spearmanr takes", end="")
    print(f" {ratio:.0f} times as much (at least {LEAST_RATIO:.0f})")
    return int(seconds > limit or ratio < LEAST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
