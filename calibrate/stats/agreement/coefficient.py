"""What every agreement coefficient returns: its value, and beside it what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from calibrate.estimate import Estimate, Interval, Signature, Undefined

NO_EXTRA: Mapping[str, float | None] = MappingProxyType({})
NO_INTERVAL = Undefined("no interval was asked for")


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An agreement coefficient, and beside it the raw agreement and the marginals that it must be read with.

    value: (observed − expected)/(1 − expected) or the coefficient's own form; `Undefined` with its reason.
    observed: agreement as the coefficient counts it, weights included; None where no unit has two ratings.
    expected: what it takes chance to give; None where it has no such term.
    raw: unweighted share of agreeing pairs of ratings, whatever the weights.
    marginals: category → share of the ratings.
    n: units (pairs, for two raters) that count.
    se: large-sample standard error; se_null: the one under no agreement, for a test; None where there is none.
    remark: one sentence where the marginals and not the raters make the coefficient low; None elsewhere.
    """

    name: str
    value: float | Undefined
    observed: float | None
    expected: float | None
    raw: float | None
    marginals: Mapping[Any, float]
    n: int
    interval: Interval | Undefined = NO_INTERVAL
    method: str | None = None
    se: float | None = None
    se_null: float | None = None
    p_value: float | None = None
    remark: str | None = None
    symbol: str | None = None
    signature: Signature = field(default_factory=Signature)
    extra: Mapping[str, float | int | str | None] = field(default_factory=lambda: NO_EXTRA)

    def estimate(self, *, level: float = 0.95, target: str | None = None, clusters: int | None = None) -> Estimate:
        """Return it as an `Estimate`; raw and chance agreement and the remark stand in `extra`."""
        extra: dict[str, float | int | str | None] = {
            "raw_agreement": self.raw,
            "observed": self.observed,
            "expected": self.expected,
            **({"symbol": self.symbol} if self.symbol else {}),
            **({"remark": self.remark} if self.remark else {}),
            **self.extra,
        }
        common: dict[str, Any] = {
            "n": self.n, "level": level, "target": target, "clusters": clusters, "method": self.method,
            "signature": self.signature, "extra": extra,
        }  # fmt: skip
        if isinstance(self.value, Undefined):
            return Estimate.undefined(self.name, self.value.reason, **common)
        if isinstance(self.interval, Undefined):
            common["interval_reason"] = self.interval.reason
        else:
            common |= {"low": self.interval.low, "high": self.interval.high}
        return Estimate(name=self.name, value=self.value, p_value=self.p_value, **common)
