"""Every metric by name, one line each. A new metric is one file and one line here."""

from __future__ import annotations

from annotate.errors import InputError, nearest
from calibrate import alignment, outcome
from calibrate.metric import Metric
from calibrate.realism import likert, turing

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        alignment.SPEARMAN,
        alignment.PEARSON,
        alignment.KENDALL,
        outcome.MACRO_F1,
        outcome.MACRO_F1_RELEASE,
        turing.RIGHT,
        turing.TIES,
        turing.POSITION,
        likert.TWIN,
        likert.HUMAN,
        likert.DIFFERENCE,
    )
}


def find(name: str) -> Metric:
    """Return the metric of that name; an unknown one is an InputError that lists what there is."""
    if name not in METRICS:
        raise InputError(
            f"metric {name!r} is not known{nearest(name, METRICS)} Known are {', '.join(sorted(METRICS))}."
        )
    return METRICS[name]
