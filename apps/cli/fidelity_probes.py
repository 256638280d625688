"""`usercal ufs` before anybody has judged: the probes, and what the next step costs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.cli.options import answer, row, shown_path
from calibrate.fidelity.drift import FAULTS

if TYPE_CHECKING:
    from annotate.study import Study
    from apps.cli.fidelity_sources import Sources
    from apps.cli.ufs import Asked
    from calibrate.probes.summary import ProbeShare, ProbeSummary

SHOWN = (
    "gold_write_missed_asked",
    "first_turn_disclosure",
    "unexecuted_claim",
    "stop_on_confirmation",
    "text_beside_call",
    "glued_token",
)
"""The probes of the first screen; all stand in what `--json` and `--out` give."""
_FEW = 6
_SHORT = 50


def print_probes(asked: Asked, found: Sources, study: Study | None, paths: Sequence[Path], as_json: bool) -> int:
    """Print what can be said without any model, labelled so, and the price of the verdicts that are missing."""
    from calibrate.probes.summary import summarise

    summaries = summarise(found.probes)
    overall = [summary for summary in summaries if summary.domain is None]
    lines = [_head(found), *_table(overall), *_left_out(found)]
    price, facts = _price(asked, found, study)
    lines += [*_notes(found), *price]
    written = _write(asked.out, summaries, found) if asked.out is not None and summaries else {}
    if written:
        lines.append(row("Wrote", "  ".join(shown_path(path) for path in written.values())))
    answer(
        as_json,
        {
            "label": "probes, not UFS",
            "probes": [summary.as_dict() for summary in summaries],
            "import": found.summary.to_dict() if found.summary else None,
            "next_step": facts,
            "paths": {kind: str(path) for kind, path in written.items()},
        },
        lines,
        _following(paths, bool(found.probes)),
    )
    return 0


def _head(found: Sources) -> str:
    rows = found.frames.episodes
    if rows is None or rows.empty:
        return "No episode of a proxy is here, so nothing can be said."
    counted = rows[rows["duplicate_of"].isna()]
    repeated = len(rows) - len(counted)
    domains = sorted(set(counted["domain"].astype(str)))
    twice = f"; {repeated} repeat another file's and count once" if repeated else ""
    proxies = counted["proxy"].nunique()
    return (
        f"Probes, not UFS: counted by rules, no model was asked.\n{len(counted):,} episodes of "
        f"{proxies} {'proxy' if proxies == 1 else 'proxies'} in {', '.join(domains)}{twice}"
    )


def _table(overall: Sequence[ProbeSummary]) -> list[str]:
    """Return one block a probe: the proxies of which it found something, the worst first, then the others."""
    if not overall:
        return []
    lines = []
    for probe in SHOWN:
        title = FAULTS[probe]
        told = [(summary.proxy, summary[probe]) for summary in overall if summary[probe].share.n]
        if not told:
            lines.append(row_wide(title, f"applies to no episode ({_why(overall, probe)})"))
            continue
        told.sort(key=lambda pair: (-(pair[1].share.value or 0), pair[0]))
        seen = [f"{proxy:<30} {_share(share)}" for proxy, share in told if share.found]
        rest = [_none(proxy, share) for proxy, share in told if not share.found]
        more = [f"… and {len(seen) - _FEW} more proxies: --json, or --out DIR"] if len(seen) > _FEW else []
        texts = [*seen[:_FEW], *more, *_wrapped("none: ", rest)]
        lines += [row_wide(title if place == 0 else "", text) for place, text in enumerate(texts)]
    return lines


def row_wide(label: str, text: str) -> str:
    """Return a labelled line whose label may be a phrase."""
    return f"{label:<32} {text}".rstrip()


def _share(share: ProbeShare) -> str:
    estimate = share.share
    limits = "no interval: " + str(estimate.interval_reason).split(":")[0]
    if estimate.low is not None:
        limits = f"[{_percent(estimate.low)}, {_percent(estimate.high)}]"
    return f"{share.found:>4} of {estimate.n:<5} {_percent(estimate.value):>3} %  {limits}"


def _none(proxy: str, share: ProbeShare) -> str:
    high = share.share.high
    return f"{proxy} (of {share.share.n}" + ("" if high is None else f", ≤ {_percent(high)} %") + ")"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):.0f}"


def _wrapped(lead: str, names: Sequence[str], width: int = 76) -> list[str]:
    """Return names parted by commas, in as many lines as they need."""
    import textwrap

    if not names:
        return []
    text = lead + (", ".join(name.replace(" ", "\u00a0") for name in names) if lead else names[0])
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text, width, break_long_words=False)]


def _wide(label: str, text: str) -> list[str]:
    return [row_wide(label if place == 0 else "", line) for place, line in enumerate(_wrapped("", [text]))]


def _why(overall: Sequence[ProbeSummary], probe: str) -> str:
    reasons: Counter[str] = Counter()
    for summary in overall:
        reasons.update(summary[probe].excluded)
    return reasons.most_common(1)[0][0] if reasons else "no episodes"


def _left_out(found: Sources) -> list[str]:
    rows = found.frames.episodes
    if rows is None:
        return []
    counted = rows[rows["duplicate_of"].isna() & (rows["status"] != "ok")]
    reasons = counted["status_reason"].fillna(counted["status"]).value_counts()
    said = ", ".join(f"{count} × {reason}" for reason, count in reasons.items())
    return [row_wide("Not scorable", said)] if said else []


def _notes(found: Sources) -> list[str]:
    said = found.summary.to_dict() if found.summary else {}
    sources = said.get("sources", []) if isinstance(said, dict) else []
    texts = [f"{count} × {text}" for source in sources for text, count in source.get("warnings", {}).items()]
    texts += [note for note in found.frames.notes if "counted once" not in note]
    lines = [line for text in texts[:4] for line in _wrapped("", [text])]
    return [row_wide("Note" if place == 0 else "", line) for place, line in enumerate(lines)]


def _price(asked: Asked, found: Sources, study: Study | None) -> tuple[list[str], dict[str, Any]]:
    """Return what judging would take, in tokens and, for a model whose price is known, in dollars."""
    load = found.load
    if load is None:
        return [], {}
    bare = (
        [row_wide("", f"{load.without_blueprint:,} episodes have no blueprint to be judged by: --tasks FILE")]
        if load.without_blueprint
        else []
    )
    if not load.episodes:
        return bare, {}
    facts: dict[str, Any] = {"judging": load.to_dict()}
    text = (
        f"about {load.verdicts:,} verdicts on {load.episodes:,} episodes, rubrics for {load.tasks:,} blueprints: "
        f"{load.prompt_tokens / 1e6:.1f} M tokens in, {load.reply_tokens / 1e6:.2f} M out"
    )
    lines = [*_wide("The score needs verdicts", text), *bare]
    model = asked.judge or _judge(study)
    if model is None:
        lines.append(row_wide("", "their price: --judge MODEL (any litellm name, or one of study.toml)"))
        return lines, facts
    config = study.config.models.get(model) if study else None
    name = config.model if config else model
    prices = study.config.prices if study else {}
    cached, full = (load.cost_usd(name, prices, cached=flag) for flag in (True, False))
    facts |= {"judge": name, "cost_usd": full, "cost_usd_with_cache": cached}
    if full is None or cached is None:
        lines.append(row_wide("", f'the price of {name} is unknown: give [prices."{name}"] in study.toml'))
    elif full == 0:
        lines += _wide("", f"{name}: free (which says nothing of whether it can judge)")
    else:
        lines.append(
            row_wide("", f"{name}: about ${cached:,.2f} with the provider's prompt cache, ${full:,.2f} without")
        )
    return lines, facts


def _judge(study: Study | None) -> str | None:
    return next(iter(study.config.run.judges), None) if study is not None else None


def _write(out: Path, summaries: Sequence[ProbeSummary], found: Sources) -> dict[str, Path]:
    import json

    from annotate.errors import StudyError
    from calibrate.probes.probing import probe_table

    paths = {"csv": out / "probes.csv", "json": out / "probes.json"}
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe_table(found.probes).to_csv(paths["csv"], index=False)
        text = json.dumps([summary.as_dict() for summary in summaries], ensure_ascii=False, indent=1)
        paths["json"].write_text(text + "\n", "utf-8")
    except OSError as error:
        raise StudyError(f"{out}: cannot be written to ({error.strerror}). Choose another place with --out.") from None
    return paths


def _following(paths: Sequence[Path], any_probes: bool) -> list[tuple[str, str]]:
    if not any_probes:
        return [("usercal import PATH", "tau-bench or tau2 results")]
    kept = shlex.join(str(path) for path in paths)
    kept = kept if len(kept) <= _SHORT else "PATH"
    following = [(f"usercal import {kept}", "keep these runs in a study")] if paths else []
    words = " ".join(part for part in ("usercal ufs", kept, "--verdicts FILE.csv") if part)
    return [*following, (words, "the score, from verdicts of anybody")]
