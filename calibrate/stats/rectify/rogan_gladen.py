"""A judge's pass rate corrected by its sensitivity and specificity (Rogan and Gladen), with limits.

Episodes judged: share P' passed of n. Human labels, drawn independently of them: q1 of m1 human passes and q0 of m0
human fails are judged rightly. θ = (P' + q0 − 1)/(q0 + q1 − 1), refused unless q0 + q1 > 1.

Multiplied up from criteria to whole episodes the correction is biased wherever a judge's errors within an episode go
together: audit episodes instead (`calibrate.stats.rectify.audited`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, check_number, shown
from calibrate.stats.intervals import check_level, normal_quantile
from calibrate.stats.rectify.rectified import Rectified


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A corrected share: raw as it comes, clipped to 0..1, and two sets of limits.

    variance: of the raw value by the delta method; wald: raw ± z √variance, which covers badly and is for comparison.
    lang_reiczigel, lang_reiczigel_raw: the limits to use, cut at 0 and 1 and uncut.
    """

    apparent: float
    sensitivity: float | Undefined
    specificity: float | Undefined
    raw: float | Undefined
    clipped: float | Undefined
    was_clipped: bool
    variance: float | Undefined
    wald: Interval | Undefined
    lang_reiczigel: Interval | Undefined
    lang_reiczigel_raw: Interval | Undefined
    labelled: int
    level: float

    @property
    def youden(self) -> float | Undefined:
        """q0 + q1 − 1; 0 or less = the judge is no better than chance."""
        if isinstance(self.sensitivity, Undefined):
            return self.sensitivity
        if isinstance(self.specificity, Undefined):
            return self.specificity
        return self.sensitivity + self.specificity - 1

    @property
    def se(self) -> float | Undefined:
        """Standard error of the raw value by the delta method."""
        return self.variance if isinstance(self.variance, Undefined) else float(np.sqrt(self.variance))

    def rectified(self) -> Rectified:
        """Return the clipped value with Lang and Reiczigel's limits; a remark says where it was clipped."""
        remark = f"the raw value {self.raw:.3f} lies outside 0 to 1 and was clipped" if self.was_clipped else None
        interval = self.lang_reiczigel
        if isinstance(interval, Interval) and isinstance(self.clipped, float):
            interval = Interval(min(interval.low, self.clipped), max(interval.high, self.clipped))
        return Rectified(
            name="rogan_gladen", value=self.clipped, n=self.labelled, interval=interval, level=self.level,
            method="Rogan–Gladen; Lang–Reiczigel limits", target="episodes like those judged", remark=remark,
            se=None if isinstance(self.se, Undefined) else self.se, extra={"apparent": self.apparent},
        )  # fmt: skip


def rogan_gladen(
    positive: float, n: float, tp: float, n_pos: float, tn: float, n_neg: float, *, level: float = 0.95
) -> RoganGladen:
    """Return the true share behind `positive` of `n` judged passes: tp of n_pos human passes, tn of n_neg fails right.

    Rogan and Gladen, American Journal of Epidemiology 107:71 (1978). Undefined where nothing was judged,
    one kind has no label, or q0 + q1 ≤ 1; limits also where q0 + q1 ≤ 1 after the added counts. `InvalidData` for
    counts outside 0..n.

    Lang and Reiczigel (2014) print [.037, .195] for 51 of 509, sensitivity 23/41 and specificity 187/195:

    >>> corrected = rogan_gladen(51, 509, 23, 41, 187, 195)
    >>> f"{corrected.raw:.3f} [{corrected.lang_reiczigel.low:.3f}, {corrected.lang_reiczigel.high:.3f}]"
    '0.114 [0.037, 0.195]'
    """
    _check(positive, n, tp, n_pos, tn, n_neg)
    check_level(level)
    labelled = int(n_pos + n_neg)
    q1 = tp / n_pos if n_pos else Undefined("no human pass among the labels: sensitivity is unknown")
    q0 = tn / n_neg if n_neg else Undefined("no human fail among the labels: specificity is unknown")
    apparent = positive / n if n else 0.0
    trouble = _why_refused(n, q1, q0)
    if trouble is not None or isinstance(q1, Undefined) or isinstance(q0, Undefined):
        no = trouble or Undefined("a share is unknown")
        return RoganGladen(apparent, q1, q0, no, no, False, no, no, no, no, labelled, level)
    youden = q0 + q1 - 1
    raw = (apparent + q0 - 1) / youden
    variance = _variance(raw, apparent, n, q1, n_pos, q0, n_neg) / youden**2
    reach = normal_quantile(level) * float(np.sqrt(variance))
    uncut = lang_reiczigel_limits(positive, n, tp, n_pos, tn, n_neg, level=level)
    cut = (
        uncut if isinstance(uncut, Undefined) else Interval(*(float(np.clip(v, 0, 1)) for v in (uncut.low, uncut.high)))
    )
    return RoganGladen(
        apparent=apparent, sensitivity=q1, specificity=q0, raw=raw, clipped=float(np.clip(raw, 0.0, 1.0)),
        was_clipped=not 0.0 <= raw <= 1.0, variance=variance, wald=Interval(raw - reach, raw + reach),
        lang_reiczigel=cut, lang_reiczigel_raw=uncut, labelled=labelled, level=level,
    )  # fmt: skip


def lang_reiczigel_limits(
    positive: float, n: float, tp: float, n_pos: float, tn: float, n_neg: float, *, level: float = 0.95
) -> Interval | Undefined:
    """Return Lang and Reiczigel's limits of the true share, not yet cut at 0 and 1.

    n is taken as n + z² with z²/2 more passes, each label set with one more success and one more failure; around the P'
    of these counts, shifted by 2 z² (P' q1(1 − q1)/(m1 + 2) − (1 − P') q0(1 − q0)/(m0 + 2)), stand z standard errors of
    the delta method. Lang and Reiczigel, Preventive Veterinary Medicine 113:13 (2014) (its equation 4 with
    (1 − P)² where (1 + P)² is printed). Undefined where q0 + q1 ≤ 1 with the added counts, or nothing was judged.

    Their example 4 prints .58 to .87:

    >>> limits = lang_reiczigel_limits(259, 509, 84, 127, 96, 109)
    >>> round(limits.low, 2), round(limits.high, 2)
    (0.58, 0.87)
    """
    _check(positive, n, tp, n_pos, tn, n_neg)
    z = normal_quantile(level)
    size, m1, m0 = n + z * z, n_pos + 2, n_neg + 2
    p, q1, q0 = (positive + z * z / 2) / size, (tp + 1) / m1, (tn + 1) / m0
    youden = q0 + q1 - 1
    if n == 0:
        return Undefined("no episode was judged")
    if youden <= 0:
        return Undefined("too few labels to tell the judge from chance")
    share = (p + q0 - 1) / youden
    shift = 2 * z * z * (share * q1 * (1 - q1) / m1 - (1 - share) * q0 * (1 - q0) / m0)
    reach = z * float(np.sqrt(_variance(share, p, size, q1, m1, q0, m0))) / youden
    return Interval(share + shift - reach, share + shift + reach)


def lee_limits(
    p: float, q0: float, q1: float, n: int, m0: int, m1: int, *, level: float = 0.95
) -> Interval | Undefined:
    """Return the limits of Lee et al. (2025), cut at 0 and 1, in their symbols: shares p of n, q0 of m0 and q1 of m1.

    Lee, Zeng, Jeong, Sohn and Lee, "How to Correctly Report LLM-as-a-Judge Evaluations", arXiv 2511.21140 (2025), the
    adjusted interval: z²/2 counts to p, one to each cell of q0 and q1, the same shift and standard error. Term by term
    it is Lang and Reiczigel's interval; this form takes shares in place of counts. Undefined and refused as there.

    >>> limits = lee_limits(51 / 509, 187 / 195, 23 / 41, 509, 195, 41)
    >>> round(limits.low, 3), round(limits.high, 3)
    (0.037, 0.195)
    """
    for share, size, what in ((p, n, "p"), (q0, m0, "q0"), (q1, m1, "q1")):
        check_number(share, what)
        check_number(size, f"the size of {what}")
        if not (0 <= share <= 1 and size >= 0):
            raise InvalidData(
                f"{what} must be a share in 0..1 of a sample, got {share!r} of {size!r}: divide by the size"
            )
    trouble = _why_refused(n, q1 if m1 else Undefined("no human pass"), q0 if m0 else Undefined("no human fail"))
    if trouble is not None:
        return trouble
    uncut = lang_reiczigel_limits(p * n, n, q1 * m1, m1, q0 * m0, m0, level=level)
    if isinstance(uncut, Undefined):
        return uncut
    return Interval(float(np.clip(uncut.low, 0, 1)), float(np.clip(uncut.high, 0, 1)))


def _check(positive: float, n: float, tp: float, n_pos: float, tn: float, n_neg: float) -> None:
    for hits, size, what in ((positive, n, "positive"), (tp, n_pos, "tp"), (tn, n_neg, "tn")):
        check_number(hits, what)
        check_number(size, f"the number that {what} is part of")
        if not 0 <= hits <= size <= MOST_COUNTED:
            raise InvalidData(f"{what} must lie in 0..{shown(size)}, got {shown(hits)}: count the labels again")


def _why_refused(n: float, q1: float | Undefined, q0: float | Undefined) -> Undefined | None:
    if n == 0:
        return Undefined("no episode was judged")
    for share in (q1, q0):
        if isinstance(share, Undefined):
            return share
    assert isinstance(q1, float | int) and isinstance(q0, float | int)
    if q0 + q1 - 1 <= 1e-12:
        return Undefined(
            f"the judge is no better than chance: sensitivity {q1:.2f} + specificity {q0:.2f} is not above 1"
        )
    return None


def _variance(share: float, p: float, n: float, q1: float, m1: float, q0: float, m0: float) -> float:
    """Return the delta method's numerator: Var P' + θ² Var q1 + (1 − θ)² Var q0."""
    return p * (1 - p) / n + share**2 * q1 * (1 - q1) / m1 + (1 - share) ** 2 * q0 * (1 - q0) / m0
