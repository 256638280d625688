"""What Krippendorff's α with a bootstrap costs: `python tests/benchmarks/bench_alpha.py [resamples]`.

Fifty raters, 20,000 units, five categories and 30 % missing ratings, all made up, against as many calls of the
`krippendorff` package on the same table (ten are timed). Limits: at least 40 times as fast, from the table to the
interval, and less than 500 MB at any time, in a process of its own. Then interval, ratio and ordinal ratings with 10^5
different values, for which a table of values by values would take 80 GB: only memory has a limit there.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from calibrate.estimate import Interval  # noqa: E402
from calibrate.stats.agreement.alpha import alpha_interval  # noqa: E402
from calibrate.stats.agreement.ratings import FloatArray, Level, ratings_of  # noqa: E402

RATERS, UNITS, CATEGORIES, MISSING = 50, 20_000, 5, 0.3
VALUES = 100_000
TIMED_CALLS = 10
LEAST_RATIO = 40.0
MOST_MEGABYTES = 500.0
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
MANY: tuple[Level, ...] = ("interval", "ratio", "ordinal")


def few_values() -> FloatArray:
    """Return made-up ratings of five categories, shape (unit, rater), nan where one is missing."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, CATEGORIES + 1, (UNITS, 1))
    noise = rng.choice([-1, 0, 0, 0, 1], (UNITS, RATERS))
    table = np.clip(truth + noise, 1, CATEGORIES).astype(np.float64)
    table[rng.random((UNITS, RATERS)) < MISSING] = np.nan
    return table


def many_values() -> FloatArray:
    """Return made-up ratings with about 10^5 different values above 0, shape (unit, rater)."""
    rng = np.random.default_rng(0)
    units = VALUES // 3
    return np.exp(rng.normal(0.0, 1.0, (units, 1)) + rng.normal(0.0, 0.3, (units, 3)))


def ours(level: Level, table: FloatArray, resamples: int) -> float:
    """Print α with its interval and return the seconds of the processor it took, from the table on."""
    start = time.process_time()
    found = alpha_interval(ratings_of(table, level=level), np.random.default_rng(1), resamples=resamples)
    seconds = time.process_time() - start
    assert isinstance(found.value, float) and isinstance(found.interval, Interval)
    limits = f"[{found.interval.low:.4f}, {found.interval.high:.4f}]"
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"  α = {found.value:.4f} {limits}, {seconds:.2f} s of the processor, at most {megabytes:,.0f} MB", flush=True
    )
    return seconds


def theirs(level: Level, table: FloatArray) -> float:
    """Return the seconds of the processor of one call of the package, the mean of ten."""
    import krippendorff

    data = np.ascontiguousarray(table.T)
    start = time.process_time()
    for _ in range(TIMED_CALLS):
        krippendorff.alpha(reliability_data=data, level_of_measurement=level)
    return (time.process_time() - start) / TIMED_CALLS


def in_own_process(*words: str) -> tuple[float, float]:
    """Return the seconds that a case printed in a process of its own, and the most megabytes it held."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, __file__, "case", *words], env=env, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        out = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"the case {' '.join(words)} ended with {child.returncode}")
    *shown, seconds = out.splitlines()
    print("\n".join(shown))
    return float(seconds), used.ru_maxrss / 1000


def case(which: str, level: Level, resamples: int) -> None:
    """Run one case, and print its seconds on the last line."""
    table = few_values() if which == "few" else many_values()
    print(ours(level, table, resamples))


def main() -> int:
    """Print the figures; 1 where a limit is missed."""
    if sys.argv[1:2] == ["case"]:
        which, level, resamples = sys.argv[2:5]
        case(which, next(one for one in LEVELS if one == level), int(resamples))
        return 0
    resamples = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    table, missed = few_values(), []
    print(f"{int(np.isfinite(table).sum()):,} ratings of {CATEGORIES} categories, {resamples:,} resamples")
    for level in LEVELS:
        print(level)
        seconds, megabytes = in_own_process("few", level, str(resamples))
        one = theirs(level, table)  # seconds of the processor as well: a busy machine changes neither
        ratio = one * resamples / seconds
        print(f"  package: {one:.3f} s a call, {one * resamples:,.0f} s for {resamples:,}: {ratio:.0f} times as long")
        missed += [f"{level}: {ratio:.0f} times as fast, not {LEAST_RATIO:.0f}"] if ratio < LEAST_RATIO else []
        missed += [f"{level}: {megabytes:,.0f} MB"] if megabytes >= MOST_MEGABYTES else []
    print(f"{VALUES:,} different values, {resamples:,} resamples")
    for level in MANY:
        print(level)
        _, megabytes = in_own_process("many", level, str(resamples))
        missed += [f"{level}, many values: {megabytes:,.0f} MB"] if megabytes >= MOST_MEGABYTES else []
    print("\n".join(f"MISSED {one}" for one in missed) or "all limits are kept")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
