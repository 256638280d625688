"""The sentences that a decision gives as its reasons: what the tasks settle, who ties, and which constraint bars."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from calibrate.fidelity.deciding import decide
from calibrate.fidelity.means import TaskSums
from calibrate.fidelity.results import Question


def sums_of(*shares: float, tasks: int = 200) -> TaskSums:
    """Return one domain in which proxy k keeps its rubric on the first `shares[k]` of the tasks."""
    import pandas as pd

    names = tuple(f"p{k}" for k in range(len(shares)))
    rows = [
        (name, "d", f"t{task}", float(task < round(share * tasks)))
        for name, share in zip(names, shares, strict=True)
        for task in range(tasks)
    ]
    frame = pd.DataFrame(rows, columns=["proxy", "domain", "task", "faithful"])
    return TaskSums.of(frame, frame["faithful"].to_numpy(np.float64), names, ("d",))


COSTS = {"p0": 1.0, "p1": 2.0}
FAST = {"resamples": 200}


def test_far_below_q_it_is_settled_as_far_as_the_tasks_go() -> None:
    made = decide(sums_of(0.6, 0.5), COSTS, Question(q=0.95, **FAST), default_rng(1)).decision
    assert made.needed_n is None and not made.settled
    assert made.needed_reason.startswith("as far as the tasks go it is settled that no proxy reaches .95")
    assert made.needed_reason.endswith("what is missing is an audit of the judge")
    audited = decide(sums_of(0.6, 0.5), COSTS, Question(q=0.95, **FAST), default_rng(1), audited=True).decision
    assert audited.settled and "no proxy reaches .95" in audited.needed_reason


def test_near_q_the_tasks_that_count_are_those_of_the_proxy() -> None:
    made = decide(sums_of(0.86, 0.5), COSTS, Question(q=0.84, **FAST), default_rng(1)).decision
    assert made.needed_n is not None and made.needed_n > 200
    assert made.needed_reason.endswith("n = 200 scored tasks of p0 now")


def test_shares_are_written_in_one_style_and_ties_are_named() -> None:
    made = decide(sums_of(0.5, 0.5), COSTS, Question(q=0.9, **FAST), default_rng(1)).decision
    assert made.chosen_reason == "none reaches .90: p0 and p1 tie for the best with .500 (mean over domains)"


def test_a_constraint_that_bars_all_is_the_reason() -> None:
    barred = dict.fromkeys(COSTS, "user turns unknown, and at most 3 are allowed")
    made = decide(sums_of(0.9, 0.5), COSTS, Question(q=0.8, **FAST), default_rng(1), barred=barred).decision
    reason = "no proxy meets the constraints: user turns unknown, and at most 3 are allowed"
    assert made.chosen is None and made.chosen_reason == made.needed_reason == reason
