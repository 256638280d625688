"""How the figures of a fidelity analysis are written: shares as `.845`, money as `$0.0175`, each with its n.

One proxy may be called anything: `named` gives its name as one line that cannot reorder the text around it.
"""

from __future__ import annotations

import re
import unicodedata

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import Basis, Cost, FidelityAnalysis, ProxyScore
from calibrate.report.drawing import shortened
from calibrate.report.wording import MINUS, listed, number, p_value

NO_BREAK = "\u00a0"
_SHARES = (None, "", "share", "proportion")
_PLACES = {"USD": 4, "%": 1, "points": 1}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_ISOLATE, _END = "\u2068", "\u2069"
LONGEST_NAME = 80
_LARGEST_SHARE = 1.05
_NUMBER = "number"
COST_WORDS = {
    "billed": "billed",
    "list": "list price",
    "self_hosted": "self-hosted",
    "estimated": "estimated",
    "unknown": "unknown",
}


def named(proxy: str, most: int = LONGEST_NAME) -> str:
    """Return a proxy's name on one line, cut where it is too long, isolated where it runs from right to left."""
    name = shortened(proxy, False, most) or "(no name)"
    if any(unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT for sign in name):
        return f"{_ISOLATE}{name}{_END}"
    return name


def share(value: float, places: int = 3) -> str:
    """Return a share as the field writes it: `.845`, `1.000`, `−.043`."""
    text = number(value, places)
    sign, digits = (MINUS, text[1:]) if text.startswith(MINUS) else ("", text)
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def threshold(value: float) -> str:
    """Return a given limit with as many decimals as it has, at least two: `.84`, `.855`, `1.00`."""
    short = share(value, 2)
    return short if abs(round(value, 2) - value) < 1e-9 else share(value, 4).rstrip("0")


def money(value: float | None) -> str:
    """Return dollars: four decimals below one dollar, two below a hundred, none above; `unknown` for None."""
    if value is None:
        return "unknown"
    small = abs(value)
    if 0 < small < 0.0001:
        return f"${value:.1e}"
    return f"${number(value, 4 if small < 1 else 2 if small < 100 else 0)}"


def _like_a_share(estimate: Estimate) -> bool:
    """Return whether an estimate without a unit lies where shares and their differences lie; turns do not."""
    known = [abs(part) for part in (estimate.value, estimate.low, estimate.high) if part is not None]
    return estimate.unit in _SHARES and max(known, default=0.0) <= _LARGEST_SHARE


def bare(estimate: Estimate) -> str:
    """Return the value in its unit, without interval or n; nothing where there is no value.

    A number without a unit is written as a share where it lies where shares lie; `counted_out` forbids that.
    """
    value, unit = estimate.value, estimate.unit
    if value is None:
        return ""
    if _like_a_share(estimate):
        return share(value)
    if unit == "USD":
        return money(value)
    return f"{number(value, _PLACES.get(unit or '', 2))}{NO_BREAK}{'' if unit == _NUMBER else unit or ''}".rstrip(
        NO_BREAK
    )


def limits(estimate: Estimate) -> str:
    """Return `[.808, .879]`, or nothing where there is no interval."""
    interval = estimate.interval
    if interval is None:
        return ""
    if _like_a_share(estimate):
        return f"[{share(interval.low)},{NO_BREAK}{share(interval.high)}]"
    if estimate.unit == "USD":
        return f"[{money(interval.low)},{NO_BREAK}{money(interval.high)}]"
    places = _PLACES.get(estimate.unit or "", 2)
    return f"[{number(interval.low, places)},{NO_BREAK}{number(interval.high, places)}]"


def counted_out(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate of turns, calls or criteria so that it is never written as a share, however small."""
    if estimate is None or estimate.unit:
        return estimate
    return estimate.model_copy(update={"unit": _NUMBER})


def said(estimate: Estimate | Undefined | None, *, brief: bool = False) -> str:
    """Return value, interval, n and p on one line, or the reason that stands in their place.

    `brief` leaves out why there is no interval, where a table's caption says it.
    """
    if estimate is None:
        return "not measured"
    if isinstance(estimate, Undefined):
        return f"no value: {estimate.reason}"
    counts = size(estimate.n)
    if estimate.value is None:
        return f"no value: {estimate.reason}, {counts}"
    head = f"{bare(estimate)}{NO_BREAK}{limits(estimate)}".rstrip(NO_BREAK)
    note = "" if estimate.interval or brief else f"no interval: {estimate.interval_reason}"
    p = p_value(estimate.p_value).replace(" ", NO_BREAK)
    return ", ".join(part for part in (head, note, counts, p) if part)


def size(n: int) -> str:
    """Return `n = 374`, which no line break divides."""
    return f"n{NO_BREAK}={NO_BREAK}{n:,}"


def cost_said(cost: Cost, per: str = "") -> str:
    """Return what a conversation costs, on whose word and over how many; or why it is not known.

    `per` follows the amount, such as ` a conversation`.
    """
    if cost.usd is None:
        return f"unknown ({cost.reason or 'no price'})"
    return f"{money(cost.usd)}{per} ({COST_WORDS[cost.basis].replace(' ', NO_BREAK)}, {size(cost.n)})"


def decided(score: ProxyScore, basis: Basis) -> Estimate:
    """Return the UFS that a decision looks at: the mean over domains or over episodes."""
    return score.ufs if basis == "domains" else score.pooled


def bounds_of(score: ProxyScore, basis: Basis) -> tuple[float, float] | None:
    """Return the UFS with every missing verdict failing and passing, by the mean that decides."""
    return score.bounds if basis == "domains" else score.bounds_pooled


def basis_words(basis: Basis) -> str:
    """Return which mean a decision uses, in words."""
    return "mean over domains" if basis == "domains" else "mean over episodes"


def percent(level: float) -> str:
    """Return `95 %` for a level of .95."""
    return f"{100 * level:g}{NO_BREAK}%"


def clause(text: str) -> str:
    """Return a text that may hold names on one line, without control signs or marks that turn the direction."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def sentence(text: str) -> str:
    """Return a clause as a sentence: with a capital and a full stop; no-break spaces stay."""
    text = re.sub(r"[^\S\u00a0]+", " ", text).strip()
    if not text:
        return ""
    return text[:1].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def phrase(name: str) -> str:
    """Return a family or mode in words: `premature_disclosure` → `premature disclosure`."""
    return shortened(name.replace("_", " "), False, LONGEST_NAME)


def by_name(analysis: FidelityAnalysis) -> dict[str, ProxyScore]:
    """Return the scores by proxy."""
    return {score.proxy: score for score in analysis.proxies}


def scored(analysis: FidelityAnalysis) -> int:
    """Return how many episodes were scored, over all proxies."""
    return sum(score.counts.scored for score in analysis.proxies)


def drawn_scores(analysis: FidelityAnalysis) -> tuple[ProxyScore, ...]:
    """Return the proxies that figures show: those with a scored episode; all where nothing is scored at all."""
    return tuple(score for score in analysis.proxies if score.counts.scored) or analysis.proxies


RATERS_NAMED = 4


def checked(analysis: FidelityAnalysis) -> bool:
    """Return whether people stand behind the verdicts: they gave them all, or they checked a sample of the judge's."""
    return analysis.audited or analysis.by_people


def rater_names(analysis: FidelityAnalysis) -> str:
    """Return who gave the verdicts, nothing where that is not known."""
    return listed([named(rater, 40) for rater in analysis.raters], RATERS_NAMED)


def audit_words(analysis: FidelityAnalysis) -> str:
    """Return what stands behind the verdicts, and who gave them where that is known."""
    raters = rater_names(analysis)
    if analysis.by_people:
        return "judged by people" + (f" ({raters})" if raters else "")
    by = f" (verdicts by {raters})" if raters else ""
    if analysis.audited:
        return f"audited: people have checked a sample of the judge's verdicts{by}"
    return f"judge-only: no person has checked the judge{by}"


def left_without_ufs(score: ProxyScore) -> int:
    """Return how many episodes of a table of results have a reward and no UFS."""
    return max(0, score.reward.n - score.counts.scored)
