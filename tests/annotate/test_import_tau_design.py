"""Which proxies episodes can compare: same agent, same tasks, equally often."""

from __future__ import annotations

from dataclasses import asdict

from annotate.importers.tau.design import DesignRow, check_design, listed, sentences


def rows(proxy: str, tasks: str, agent: str = "a", domain: str = "retail", trials: int = 1) -> list[DesignRow]:
    return [DesignRow(proxy, agent, domain, task, str(trial)) for task in tasks.split() for trial in range(trials)]


def test_a_full_design_is_fair() -> None:
    design = check_design(rows("p", "1 2 3") + rows("q", "1 2 3") + rows("r", "3 2 1"))
    assert design.fair and not design.faults
    assert design.domains[0].complete == ["1", "2", "3"] and design.domains[0].scored == 9
    assert sentences(design) == ["retail: 3 tasks have all 3 proxies: compared on 3, 9 episodes"]


def test_tasks_that_a_proxy_lacks_are_named_with_it() -> None:
    design = check_design(rows("p", "1 2 10 x") + rows("q", "2 10"))
    assert design.domains[0].incomplete == {"1": ["q"], "x": ["q"]} and design.domains[0].scored == 4
    assert sentences(design) == ["retail: 2 tasks have both proxies; 2 do not (1, x): compared on 2, 4 episodes"]


def test_pairs_say_on_how_many_tasks_two_proxies_meet() -> None:
    design = check_design(rows("p", "1 2 3") + rows("q", "3 4") + rows("r", "1 2"))
    pairs = {(pair.one, pair.other): (pair.shared, pair.either) for pair in design.domains[0].pairs}
    assert pairs == {("p", "q"): (1, 4), ("p", "r"): (2, 3), ("q", "r"): (0, 4)}
    assert not design.fair and "no task has all 3 proxies" in sentences(design)[0]
    assert "most for two: p and r, 2 tasks" in sentences(design)[0]


def test_other_agents_and_unequal_trials_are_faults() -> None:
    design = check_design(rows("p", "1 2", trials=2) + rows("q", "1 2", agent="b", trials=1))
    assert not design.fair and len(design.faults) == 2
    assert "different agents (a, b)" in design.faults[0] and "2 tasks were not repeated" in design.faults[1]
    both = [*rows("p", "1"), *rows("p", "1", agent="b"), *rows("q", "1"), *rows("q", "1", agent="b")]
    assert check_design(both).fair, "two agents, and every proxy met both"


def test_what_failed_repeats_or_cannot_be_scored_is_left_out() -> None:
    left = [
        DesignRow("q", "a", "retail", "9", "0", "infra_error"),
        DesignRow("q", "a", "retail", "9", "0", "not_scorable"),
        DesignRow("q", "a", "retail", "9", "0", duplicate=True),
        DesignRow("q", "a", "retail", "unknown", "0"),
    ]
    design = check_design(rows("p", "1") + rows("q", "1") + left)
    assert design.domains[0].tasks == 1 and design.domains[0].unknown_tasks == 1
    assert "1 episode of unknown task" in sentences(design)[0]


def test_domains_stand_apart_and_one_proxy_compares_nothing() -> None:
    design = check_design(rows("p", "1 2", trials=4) + rows("p", "1", domain="telecom") + rows("q", "1"))
    assert [domain.domain for domain in design.domains] == ["retail", "telecom"]
    assert sentences(design)[1].startswith("telecom: one proxy, so nothing is compared; 1 task")
    assert not check_design(rows("p", "1")).fair and asdict(check_design([])) == {"domains": [], "faults": []}


def test_long_names_are_cut() -> None:
    assert listed(["x" * 80] * 5) == f"{'x' * 47}…, {'x' * 47}… and 3 more"
    assert listed(["1", "2", "3", "4", "5"]) == "1, 2, 3, 4 and 1 more"


def test_a_task_with_two_blueprints_is_a_fault_and_one_of_unknown_blueprint_is_not() -> None:
    told = [
        DesignRow("p", "a", "retail", "1", "0", blueprint="i_1"),
        DesignRow("q", "a", "retail", "1", "0", blueprint="i_2"),
        DesignRow("p", "a", "retail", "2", "0", blueprint="i_3"),
        DesignRow("q", "a", "retail", "2", "0"),
    ]
    design = check_design(told)
    assert not design.fair and design.domains[0].reworded == ["1"]
    assert sentences(design)[1].startswith("retail: 1 task (1) has another blueprint in another run")


def test_the_same_fault_of_two_domains_is_one_sentence() -> None:
    told = [DesignRow(p, a, domain, "1", "0") for domain in ("retail", "telecom") for p, a in (("p", "a"), ("q", "b"))]
    said = sentences(check_design(told))
    assert len(said) == 3 and said[2].startswith("retail, telecom: the proxies met different agents (a, b)")
