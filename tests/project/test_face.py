"""`import usercal`: every public name is there, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import usercal

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "pandas", "scipy", "sklearn", "pydantic", "sqlmodel", "sqlalchemy", "alembic", "litellm",
         "matplotlib", "jinja2", "click", "rich", "pyarrow", "streamlit", "asyncio", "importlib.metadata"}  # fmt: skip


def loaded_by(code: str, tmp_path: Path) -> set[str]:
    """The modules that are loaded after running `code` in a new process."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nloaded = sorted(set(sys.modules) - before)\n"
    script += "import json\nprint(json.dumps(loaded))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_it_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_by("import usercal; dir(usercal)", tmp_path)
    assert "usercal" in loaded
    assert loaded & HEAVY == set()
    assert not {name for name in loaded if name.split(".")[0] in ("annotate", "simulate", "calibrate", "apps")}


def test_the_store_is_not_loaded_by_a_noun(tmp_path: Path) -> None:
    loaded = loaded_by("import usercal; usercal.Turn; usercal.Study; usercal.UserCalError", tmp_path)
    assert "annotate.schema" in loaded
    assert loaded & {"sqlmodel", "sqlalchemy", "pandas", "litellm", "scipy"} == set()


@pytest.mark.parametrize("name", usercal.__all__)
def test_each_public_name_is_there(name: str) -> None:
    found = getattr(usercal, name)
    assert found is not None
    if name != "__version__":
        assert callable(found)
        assert found.__name__ == name


def test_the_names_of_type_checkers_are_those_of_the_table() -> None:
    tree = ast.parse((ROOT / "usercal.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == usercal._HOMES
    assert sorted([*usercal._HOMES, "__version__"]) == usercal.__all__
    assert set(usercal.__all__) <= set(dir(usercal))


def test_the_version_is_the_one_of_the_distribution() -> None:
    assert usercal.__version__ == version("usercal")
    assert re.fullmatch(r"\d+\.\d+\.\d+", usercal.__version__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'usercal' has no attribute 'Gatewai'"):
        usercal.Gatewai  # noqa: B018
