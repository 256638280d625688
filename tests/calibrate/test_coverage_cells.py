"""A dozen cells of the coverage simulations, and whether the rule by which they are judged can fail at all."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.stats
from grid import PROMISES, Cell, Promise, cells, monte_carlo_limits, promise_of, run, second_look, verdict
from simulated_audit import CRITERIA, AuditCell, allocate_rows, audit_weights, shares, simulate

from calibrate.stats.planning.audit import plan_audit
from calibrate.stats.rectify.pooling import pjm_limits

ROOT = Path(__file__).resolve().parents[2]
GRID = {cell.name: cell for cell in cells()}


def audit(
    method: str, judged: int, audited: int, error: float, errors: str, icc: float, ufs: float, *rest: str
) -> Cell:
    strata, target = rest
    where = {"judged": judged, "audited": audited, "error": error, "errors": errors, "icc": icc, "ufs": ufs}
    return next(
        c for c in GRID.values() if c.method == method and c.where == {**where, "strata": strata, "target": target}
    )


HARD = [
    audit("PJM", 300, 40, 0.01, "symmetric", 0.0, 0.95, "equal", "finite"),
    audit("PJM", 300, 40, 0.15, "symmetric", 0.3, 0.5, "unequal", "tasks"),
    audit("PJM", 300, 100, 0.01, "lenient", 0.3, 0.95, "unequal, domains alike", "finite"),
    audit("PJM", 2600, 40, 0.15, "lenient", 0.0, 0.8, "unequal, domains alike", "finite"),
    audit("PJM", 2600, 40, 0.01, "strict", 0.3, 0.8, "equal", "tasks"),
    audit("PJM", 2600, 300, 0.05, "symmetric", 0.3, 0.8, "unequal", "finite"),
    audit("PJM", 300, 300, 0.05, "strict", 0.0, 0.5, "unequal", "tasks"),
    audit("PJ", 300, 100, 0.15, "symmetric", 0.0, 0.8, "equal", "finite"),
    audit("PJ", 2600, 300, 0.05, "symmetric", 0.3, 0.5, "unequal", "tasks"),
]
GROUPS = [cell for cell in GRID.values() if cell.method == "group ρ" and cell.where["strength"] == 0.7]


@pytest.mark.parametrize("cell", [*HARD, *GROUPS], ids=lambda cell: cell.name)
def test_a_promise_is_kept(cell: Cell) -> None:
    result = run(cell, 200 if cell.method == "group ρ" else None)
    told = verdict(result.hits, result.defined, promise_of(cell, result))
    assert told == "held", f"{cell.name} covers {result.coverage} of {result.defined}"
    assert result.defined > 0.9 * result.trials


# ------------------------------------------------------------------------------------------------ the rule can fail


def test_wald_is_caught() -> None:
    """Limits that are known to cover too little break the promise that PJM keeps on the very same data."""
    where = audit("PJM", 300, 40, 0.01, "symmetric", 0.0, 0.95, "equal", "finite").where
    planted = run(Cell("Wald", where, 2000))
    assert verdict(planted.hits, planted.defined, PROMISES["PJM"]) == "broken"


def test_the_rule_at_its_edges() -> None:
    band = Promise(0.93, 0.97)
    assert verdict(950, 1000, band) == "held"
    assert verdict(1000, 1000, band) == "broken"  # too wide
    assert verdict(880, 1000, band) == "broken"
    assert verdict(88, 100, band) == "held"  # too few trials to say so
    assert verdict(88, 100, None) == verdict(0, 0, band) == "no promise"
    first_held = next(hits for hits in range(1000) if verdict(hits, 1000, band) == "held")
    assert (
        scipy.stats.binom.sf(first_held - 1, 1000, 0.93)
        > 0.0005
        > scipy.stats.binom.cdf(first_held - 1, 1000, 0.93) / 2
    )
    assert monte_carlo_limits(0, 10)[0] == 0.0 and monte_carlo_limits(10, 10)[1] == 1.0


# ------------------------------------------------------------------------------------------- what is planted is there


@pytest.mark.parametrize("icc", [0.0, 0.3])
@pytest.mark.parametrize("errors", ["symmetric", "lenient", "strict"])
def test_closed_shares_are_those_of_episodes_drawn_criterion_by_criterion(errors: str, icc: float) -> None:
    ufs, error, n, rng = 0.8, 0.1, 200_000, np.random.default_rng(3)

    def rates(mean: float) -> np.ndarray:
        scale = (1 - icc) / icc if icc else 0.0
        return rng.beta(mean * scale, (1 - mean) * scale, (n, 1)) if icc else np.full((n, 1), mean)

    from simulated_audit import pass_rate

    kept = rng.random((n, CRITERIA)) < rates(pass_rate(ufs, icc))
    wrong = rng.random((n, CRITERIA)) < rates(error)
    wrong &= {"symmetric": np.ones_like(kept), "lenient": ~kept, "strict": kept}[errors]
    faithful, passed = kept.all(axis=1), (kept ^ wrong).all(axis=1)
    drawn = [np.mean((faithful == f) & (passed == p)) for f in (False, True) for p in (False, True)]
    assert drawn == pytest.approx(shares(ufs, error, errors, icc), abs=0.004)


def test_the_truth_is_the_planted_ufs_for_new_tasks_and_the_realised_one_for_these_episodes() -> None:
    cell = AuditCell(300, 300, 0.05, "symmetric", 0.3, 0.8, "unequal, domains alike", "finite")
    made = simulate(cell, 4000, np.random.default_rng(1))
    assert made.truth.mean() == pytest.approx(0.8, abs=0.003) and made.truth.std() > 0.01
    census = (made.passed.reshape(-1, 4, 2).sum(axis=2) / made.judged.reshape(-1, 4, 2).sum(axis=2)).mean(axis=1)
    assert made.truth == pytest.approx(census)
    assert (simulate(replace(cell, target="tasks"), 5, np.random.default_rng(1)).truth == 0.8).all()


@pytest.mark.parametrize("total", [40, 100])
def test_audits_of_all_trials_at_once_are_those_of_the_planner(total: int) -> None:
    cell = AuditCell(300, total, 0.05, "symmetric", 0.3, 0.8, "unequal", "finite")
    made = simulate(cell, 30, np.random.default_rng(2))
    verdicts = np.array(made.groups["verdict"])
    rows = allocate_rows(total, made.judged, audit_weights(total, made.judged, verdicts))
    assert (rows == made.audited).all() and (rows.sum(axis=1) == total).all()
    for judged, row in zip(made.judged.tolist(), rows.tolist(), strict=True):
        planned = plan_audit(total, judged, verdicts.tolist()).allocation.counts
        assert np.abs(np.array(planned) - row).max() <= 1  # ties of the remainder may go either way


@pytest.mark.parametrize(
    ("domains", "tasks", "coverage"), [(4, 75, 0.922), (2, 150, 0.944), (1, 300, 0.955), (4, 94, 0.935)]
)
def test_what_the_page_says_of_wilson_limits_put_together(domains: int, tasks: int, coverage: float) -> None:
    """A census of episodes that are all judged pass: only the tasks are left open."""
    kept = np.random.default_rng(5).binomial(tasks, 0.95, size=(40_000, domains))
    sizes = np.full(domains, tasks)
    _, low, high = pjm_limits(
        sizes, sizes, kept, verdict=np.ones(domains, dtype=int), domain=np.arange(domains), target="tasks"
    )
    assert np.mean((low <= 0.95) & (high >= 0.95)) == pytest.approx(coverage, abs=0.005)


# ------------------------------------------------------------------------------------------------------- the script


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_table", ROOT / "scripts" / "coverage_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, kept = script(), tmp_path / "cells.jsonl"
    grid = [replace(cell, trials=50) for cell in [*GRID.values()][:3]]
    first = table.finish(grid[:2], kept)
    kept.write_text(kept.read_text() + '{"source": "cut o')
    calls = []
    monkeypatch.setattr(table, "run", lambda cell: calls.append(cell.name) or run(cell))
    both = table.finish(grid, kept)
    assert calls == [grid[2].name] and {name: both[name] for name in first} == first
    assert table.finish(grid, kept) == both and len(calls) == 1
    monkeypatch.setattr(table, "source_digest", lambda: "another")
    table.finish(grid, kept)
    assert len(calls) == 4


def test_the_page_says_what_is_broken() -> None:
    table = script()
    where = audit("PJM", 300, 40, 0.01, "symmetric", 0.0, 0.95, "equal", "finite").where
    good, bad = Cell("PJM", where, 300, Promise(0.93)), Cell("PJM", {**where, "ufs": 0.9}, 300, Promise(0.93))
    held = run(good)
    broken = replace(held, name=bad.name, hits=200)
    pairs = [(good, held), (bad, broken)]
    assert table.broken_promises(pairs) == [f"broken: {bad.name} covers 0.667"]
    (again,) = second_look(pairs)
    assert again.where == bad.where and again.trials > 10 * bad.trials and again.seed != bad.seed
    assert "| PJM | 1 | 300 | 1 | 0.667 | 0.667 |" in table.looked_again([(again, broken)])
    page = table.page(pairs, [])
    assert "broken in 1 cells" in page and "| 0.667 |" in page and f"| {held.seed} |" in page
