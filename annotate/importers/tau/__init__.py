"""Results of tau-bench and tau2: files and folders of episodes between a simulated user and an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.contract import Options, Reading, Sources


class Tau:
    """Reads results of tau-bench and tau2, file by file and episode by episode."""

    name = "tau"
    title = "results of tau-bench or tau2, a file or a folder of them"

    def detects(self, path: Path) -> bool:
        """Whether the file holds episodes, or the folder such files; damaged ones count."""
        from annotate.importers.tau.files import find
        from annotate.importers.tau.shapes import shape

        if path.is_dir():
            found = find([path])
            return bool(found.runs or found.broken)
        try:
            return shape(path) is not None
        except InputError:
            return True

    def sources(self, paths: Sequence[Path], options: Options, on_read: Callable[[int], None] | None = None) -> Sources:
        """Return the runs below `paths`, ready to be read, what is broken and what was passed over."""
        from annotate.importers.tau.blueprints import read_tasks
        from annotate.importers.tau.files import find
        from annotate.importers.tau.reader import TauReading
        from annotate.importers.tau.summary import TauSummary, summed

        tasks = read_tasks(options.tasks) if options.tasks is not None else {}
        found = find(list(paths))
        if not found.runs and not found.broken:
            where = ", ".join(str(path) for path in paths)
            raise InputError(
                f"{where}: holds no results of tau-bench or tau2. Give the file of results, or its folder."
            )
        passed = [(path.name, why) for path, why in found.passed_over]
        readings = [TauReading(run, options, tasks, on_read) for run in found.runs]

        def summarise(read: Sequence[Reading], duplicates: Mapping[str, str]) -> TauSummary:
            chosen = [one for one in readings if one in read]
            return summed([one.told() for one in chosen], passed, duplicates)

        return Sources(
            readings=list(readings),
            sizes=[run.size for run in found.runs],
            broken=[(str(path), why) for path, why in found.broken],
            summarise=summarise,
        )


def read_guidelines(path: Path) -> str:
    """Return the text of a file of guidelines; raises `InputError`."""
    with reading.opened(path) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{path}: is empty. Give the guidelines that the proxies were given.")
    return text
