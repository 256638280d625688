"""What an estimator that corrects a judge by human labels returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrate.estimate import Estimate, Interval, Signature, Undefined

NO_INTERVAL = Undefined("no interval was asked for")


@dataclass(frozen=True, slots=True)
class Rectified:
    """A corrected value with its interval, and how it came about.

    value: the estimate, or `Undefined` with its reason; interval: its limits, or why there are none.
    method: estimator and interval in words; target: the population the interval speaks for.
    n: human labels behind the value; clusters: units they are grouped in, where they are.
    se: standard error, None where the method has none. remark: one sentence that must be read with the value.
    """

    name: str
    value: float | Undefined
    n: int
    method: str
    target: str
    interval: Interval | Undefined = NO_INTERVAL
    level: float = 0.95
    se: float | None = None
    clusters: int | None = None
    remark: str | None = None
    signature: Signature = field(default_factory=Signature)
    extra: Mapping[str, float | int | str | None] = field(default_factory=dict)

    def estimate(self) -> Estimate:
        """Return it as an `Estimate`; standard error and remark stand in `extra`."""
        extra: dict[str, float | int | str | None] = {**self.extra}
        if self.se is not None:
            extra["se"] = self.se
        if self.remark is not None:
            extra["remark"] = self.remark
        common: dict[str, Any] = {
            "n": self.n, "level": self.level, "target": self.target, "clusters": self.clusters,
            "method": self.method, "signature": self.signature, "extra": extra,
        }  # fmt: skip
        if isinstance(self.value, Undefined):
            return Estimate.undefined(self.name, self.value.reason, **common)
        if isinstance(self.interval, Undefined):
            common["interval_reason"] = self.interval.reason
        else:
            common |= {"low": self.interval.low, "high": self.interval.high}
        return Estimate(name=self.name, value=self.value, **common)
