"""Who imports whom, checked on the source and at run time."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("annotate", "simulate", "calibrate", "apps")
OWN = {*ROOMS, "usercal", "usercal_data"}
# Names under which the packages of pyproject.toml are imported, where they are not the names of the packages.
IMPORTED_AS = {"scikit-learn": "sklearn", "label-studio-sdk": "label_studio_sdk", "psycopg": "psycopg"}
# Parts of another requirement that its own documentation tells to import.
PARTS = {"sqlalchemy": "sqlmodel", "markupsafe": "jinja2"}


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, anywhere in it."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.split(".")[0] for name in names}


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sysconfig.get_path("scripts")) / "lint-imports"), "--no-cache"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_the_contracts_are_kept() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("room", "line", "contract"),
    [
        ("calibrate", "import simulate.task", "side by side"),
        ("annotate", "import calibrate.estimate", "side by side"),
        ("calibrate", "import sqlalchemy", "opens no database itself"),
        ("calibrate", "from annotate.store import Store", "reads no store"),
        ("simulate", "import litellm", "litellm in one file"),
        ("apps", "import xllamacpp", "xllamacpp in one file"),
        ("apps", "import matplotlib.pyplot", "matplotlib in calibrate.report only"),
    ],
)
def test_a_wrong_import_breaks_a_contract(tmp_path: Path, room: str, line: str, contract: str) -> None:
    for name in ROOMS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    (tmp_path / room / "wrong.py").write_text(f"def work():\n    {line}\n", "utf-8")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout
    broken = [text for text in done.stdout.splitlines() if " BROKEN" in text]
    assert any(contract in text for text in broken), done.stdout


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = list(project["dependencies"]) + [text for name in extras if name != "dev" for text in extras[name]]
    names = {canonicalize_name(Requirement(text).name) for text in declared}
    known = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}
    providers = packages_distributions()
    known |= {module for module, made_by in providers.items() if {canonicalize_name(one) for one in made_by} & names}
    known |= {part for part, whole in PARTS.items() if whole in names}
    foreign = {
        name: path.relative_to(ROOT).as_posix()
        for path in sources()
        for name in imported(path) - OWN - set(sys.stdlib_module_names) - known - {path.stem}
    }
    assert foreign == {}


def test_calibrate_loads_no_database_no_gateway_and_no_drawing() -> None:
    """Imports every module of calibrate in a new process, the drawing ones too."""
    code = """
import importlib, pkgutil, sys, calibrate
for found in pkgutil.walk_packages(calibrate.__path__, "calibrate."):
    importlib.import_module(found.name)
print(len([name for name in sys.modules if name.startswith("calibrate.")]))
print(*sorted({"sqlmodel", "sqlalchemy", "alembic", "litellm", "streamlit", "matplotlib", "simulate", "apps", "httpx",
               "requests"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, loaded = done.stdout.splitlines()
    assert int(count) > 10
    assert loaded == ""


def test_the_command_line_starts_light() -> None:
    heavy = {"pandas", "numpy", "sqlmodel", "litellm", "scipy", "streamlit", "matplotlib", "pydantic"}
    code = f"import sys, apps.cli; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
