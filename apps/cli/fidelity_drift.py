"""`usercal ufs PATH --sample N`: later runs against those that a proxy was chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.errors import InputError
from apps.cli.fidelity_sources import Sources, gather
from apps.cli.options import answer, row

if TYPE_CHECKING:
    from annotate.study import Study
    from apps.cli.ufs import Asked
    from calibrate.fidelity.drift import Drift, Key, Rate

UFS = "UFS"
_MOST = 12


def print_drift(asked: Asked, later: Sources, study: Study | None, paths: Sequence[Path], as_json: bool) -> int:
    """Compare a random sample of later episodes with the earlier ones; exit 1 where a proxy has become worse."""
    from numpy.random import default_rng

    from calibrate.fidelity.drift import compare_rates, unknown_cells

    if asked.sample is None:
        raise InputError("--baseline is what --sample is compared with. Give --sample N too.")
    if not paths:
        raise InputError("--sample compares later runs with earlier ones. Name the later: usercal ufs PATH --sample N")
    if study is None and asked.baseline is None:
        raise InputError("--sample compares with earlier runs, and there is no study here. Name them: --baseline PATH")
    earlier = gather([asked.baseline] if asked.baseline else [], study=study, rater=asked.rater).within(asked.domains)
    seed = asked.question(study).seed
    before, judged = _rates(earlier, None, default_rng(seed), later.judged)
    after, _ = _rates(later, asked.sample, default_rng(seed), judged)
    found = compare_rates(before, after, worse_when={UFS: -1})
    if not found:
        raise InputError(
            f"nothing can be compared: earlier {_names(before)}; later {_names(after)}. A proxy is held against itself "
            "in the same domain; name it as it was: --proxy NAME"
        )
    worse = [drift for drift in found if drift.worse]
    lines = [_answer(found, worse, judged), *_table(found)]
    lines += [row("new", f"{name}: not among the earlier runs") for name in unknown_cells(before, after)]
    lines += [row("note", text) for text in _remarks(earlier, later, judged)]
    facts = {
        "drifted": list(dict.fromkeys(drift.proxy for drift in worse)),
        "notes": _remarks(earlier, later, judged),
        "measures": [_facts(drift) for drift in found],
    }
    following = [("usercal import PATH", "keep the later runs, and judge them")] if worse else []
    answer(as_json, facts, lines, following)
    return 1 if worse else 0


def _remarks(earlier: Sources, later: Sources, judged: bool) -> list[str]:
    """Return what else may differ between the two: tasks, agents, or nothing because they are the same episodes."""
    said = [] if judged else ["the two sides are not both judged: probes are compared, not UFS"]
    known = {probe.simulation for probe in earlier.probes} - {"unknown"}
    again = sum(probe.simulation in known for probe in later.probes)
    if again:
        said.append(f"{again:,} of the later episodes are among the earlier ones: they are no later runs")
    one, two = earlier.frames.episodes, later.frames.episodes
    assert one is not None and two is not None
    cells = [set(zip(rows["domain"].astype(str), rows["task"].astype(str), strict=True)) for rows in (one, two)]
    said.append(f"{len(cells[1] & cells[0]):,} of the {len(cells[1]):,} later tasks are among the earlier ones")
    both = set(one["proxy"].astype(str)) & set(two["proxy"].astype(str))
    agents = [set(rows.loc[rows["proxy"].astype(str).isin(both), "agent"].astype(str)) for rows in (one, two)]
    if agents[0] != agents[1]:
        said.append(
            f"agents differ: {', '.join(sorted(agents[0])[:3])} before, {', '.join(sorted(agents[1])[:3])} later"
        )
    return said


def _table(found: Sequence[Drift]) -> list[str]:
    """Return the comparisons in which something was found, the worse first, and how many others there are."""
    told = [drift for drift in found if drift.worse or drift.earlier.x or drift.later.x or drift.measure == UFS]
    told.sort(key=lambda drift: not drift.worse)
    rest = [drift for drift in found if drift not in told]
    lines = [line for drift in told[:_MOST] for line in _lines(drift)]
    if len(told) > _MOST:
        lines.append(f"… and {len(told) - _MOST} more comparisons: --json")
    return lines + ([f"Nothing found on either side in {len(rest)} more comparisons."] if rest else [])


def _rates(found: Sources, sample: int | None, rng: Any, judged: bool) -> tuple[dict[Key, Rate], bool]:
    """Return the rates of each proxy: faithful episodes where both sides are judged, else what the probes found."""
    from calibrate.fidelity.drift import faithful_rates, probe_rates, sample_episodes
    from calibrate.fidelity.scoring import score

    if found.frames.episodes is None:
        raise InputError("a table of results has no episodes to sample. Give runs, or verdicts by episode.")
    if judged and found.judged:
        rows = score(found.frames).rows
        return faithful_rates(rows if sample is None else sample_episodes(rows, sample, rng)), True
    rows = found.frames.episodes
    kept = rows[rows["duplicate_of"].isna() & (rows["status"] == "ok")]
    chosen = set((kept if sample is None else sample_episodes(kept, sample, rng))["episode"])
    return probe_rates([probe for probe in found.probes if probe.episode in chosen]), False


def _answer(found: Sequence[Drift], worse: Sequence[Drift], judged: bool) -> str:
    what = "fidelity" if judged else "what the probes count"
    if worse:
        names = ", ".join(dict.fromkeys(drift.proxy for drift in worse))
        return f"Warning: {what} has become worse for {names}."
    proxies = len({drift.proxy for drift in found})
    of = f"{proxies} {'proxy' if proxies == 1 else 'proxies'}"
    return f"No drift found in {what} of {of}; a small one may be there: see n."


def _lines(drift: Drift) -> list[str]:
    def said(rate: Rate) -> str:
        return f"{rate.x}/{rate.n}" + (f" ({rate.x / rate.n:.2f})" if rate.n else "")

    estimate = drift.difference
    between = (
        f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        if estimate.value is not None
        else f"no difference ({estimate.reason})"
    )
    finds = (
        "too few to find any change" if drift.detectable is None else f"finds changes from {drift.detectable:.2f} on"
    )
    return [
        f"{drift.proxy} in {drift.domain}: {drift.measure}{'   ← worse' if drift.worse else ''}",
        f"    {said(drift.earlier):>16} → {said(drift.later):<16} {between}   {finds}",
    ]


def _facts(drift: Drift) -> dict[str, Any]:
    return {
        "proxy": drift.proxy,
        "domain": drift.domain,
        "measure": drift.measure,
        "earlier": {"x": drift.earlier.x, "n": drift.earlier.n},
        "later": {"x": drift.later.x, "n": drift.later.n},
        "difference": drift.difference.as_dict(),
        "worse": drift.worse,
        "detectable": drift.detectable,
    }


def _names(rates: dict[Key, Rate]) -> str:
    return ", ".join(sorted({f"{proxy} in {domain}" for proxy, domain, _ in rates})[:6]) or "none"
