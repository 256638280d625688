"""The public names of UserCal, each imported when it is first used.

    import usercal
    study = usercal.Study.open(Path("tutoring"))
    frames = usercal.read_frames(study.open_store())
    print(usercal.agreement(table, level="ordinal"))

`import usercal` itself loads nothing heavy and touches neither files nor network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotate.errors import InvalidData, UserCalError
    from annotate.export import export_study
    from annotate.frames import read_frames
    from annotate.imports import import_paths
    from annotate.schema import Annotation, Conversation, Item, Participant, Profile, Rater, Scale, Target, Turn
    from annotate.store import Store
    from annotate.study import Study
    from calibrate.agreement import Agreement, agreement
    from calibrate.estimate import Estimate
    from calibrate.report.composing import compose
    from simulate.llm.gateway import Gateway
    from simulate.task import load_task

    __version__: str

__all__ = [
    "Agreement",
    "Annotation",
    "Conversation",
    "Estimate",
    "Gateway",
    "InvalidData",
    "Item",
    "Participant",
    "Profile",
    "Rater",
    "Scale",
    "Store",
    "Study",
    "Target",
    "Turn",
    "UserCalError",
    "__version__",
    "agreement",
    "compose",
    "export_study",
    "import_paths",
    "load_task",
    "read_frames",
]

_HOMES = {
    "Agreement": "calibrate.agreement",
    "Annotation": "annotate.schema",
    "Conversation": "annotate.schema",
    "Estimate": "calibrate.estimate",
    "Gateway": "simulate.llm.gateway",
    "InvalidData": "annotate.errors",
    "Item": "annotate.schema",
    "Participant": "annotate.schema",
    "Profile": "annotate.schema",
    "Rater": "annotate.schema",
    "Scale": "annotate.schema",
    "Store": "annotate.store",
    "Study": "annotate.study",
    "Target": "annotate.schema",
    "Turn": "annotate.schema",
    "UserCalError": "annotate.errors",
    "agreement": "calibrate.agreement",
    "compose": "calibrate.report.composing",
    "export_study": "annotate.export",
    "import_paths": "annotate.imports",
    "load_task": "simulate.task",
    "read_frames": "annotate.frames",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("usercal")
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
