"""The command line as tests call it: in an empty folder, with what it said and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.cli import main


class Said:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Said]:
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USERCAL_STORE", raising=False)

    def run(*words: object) -> Said:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run
