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
    from calibrate.fidelity.drift import Drift, Rate

UFS = "UFS"


def print_drift(asked: Asked, later: Sources, study: Study | None, paths: Sequence[Path], as_json: bool) -> int:
    """Compare a random sample of later episodes with the earlier ones; exit 1 where a proxy has become worse."""
    from numpy.random import default_rng

    from calibrate.fidelity.drift import compare_rates, unknown_proxies

    if asked.sample is None:
        raise InputError("--baseline is what --sample is compared with. Give --sample N too.")
    if not paths:
        raise InputError(
            "--sample compares later runs with earlier ones. Name the later ones: usercal ufs PATH --sample N"
        )
    earlier = gather([asked.baseline] if asked.baseline else [], study=study, rater=asked.rater)
    seed = asked.question(study).seed
    before, judged = _rates(earlier, None, default_rng(seed), later.judged)
    after, _ = _rates(later, asked.sample, default_rng(seed), judged)
    found = compare_rates(before, after, worse_when={UFS: -1})
    if not found:
        raise InputError(
            "no proxy is in both: earlier "
            f"{_names(before)}; later {_names(after)}. Name the proxy as it was: --proxy NAME"
        )
    worse = [drift for drift in found if drift.worse]
    lines = [_answer(found, worse, judged), *(_line(drift) for drift in found)]
    lines += [row("new", f"{name}: not among the earlier runs") for name in unknown_proxies(before, after)]
    if not judged:
        lines.append(row("note", "the later episodes have no verdicts: probes are compared, not UFS"))
    facts = {"drifted": [drift.proxy for drift in worse], "measures": [_facts(drift) for drift in found]}
    following = [("usercal import PATH", "keep the later runs, and judge them")] if worse else []
    answer(as_json, facts, lines, following)
    return 1 if worse else 0


def _rates(found: Sources, sample: int | None, rng: Any, judged: bool) -> tuple[dict[tuple[str, str], Rate], bool]:
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


def _line(drift: Drift) -> str:
    def said(rate: Rate) -> str:
        return f"{rate.x}/{rate.n}" + (f" ({rate.x / rate.n:.3f})" if rate.n else "")

    mark = "  ← worse" if drift.worse else ""
    least = f"  finds changes from {drift.detectable:.2f} on" if drift.detectable is not None else ""
    estimate = drift.difference
    between = (
        f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        if estimate.value is not None
        else f"no difference ({estimate.reason})"
    )
    rates = f"{said(drift.earlier):>16} → {said(drift.later):>16}"
    return f"{drift.proxy:<24} {drift.measure:<28} {rates}  {between}{least}{mark}"


def _facts(drift: Drift) -> dict[str, Any]:
    return {
        "proxy": drift.proxy,
        "measure": drift.measure,
        "earlier": {"x": drift.earlier.x, "n": drift.earlier.n},
        "later": {"x": drift.later.x, "n": drift.later.n},
        "difference": drift.difference.as_dict(),
        "worse": drift.worse,
        "detectable": drift.detectable,
    }


def _names(rates: dict[tuple[str, str], Rate]) -> str:
    return ", ".join(sorted({proxy for proxy, _ in rates})) or "none"
