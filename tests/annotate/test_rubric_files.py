"""Criteria in files: back as they were, with an id of their own where they have none, and refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import InputError
from annotate.rubrics.files import COLUMNS, criteria_text, read_criteria
from annotate.schema import Criterion

WORDS = st.text(alphabet="ab =+-@'\",;\n\té漢🙂", min_size=1, max_size=12).map(str.strip).filter(bool)


def made(number: int = 0, **change: Any) -> Criterion:
    return Criterion(
        **{
            "id": f"k{number}", "family": "groundedness", "mode": "self_contradiction", "text": "It says one thing.",
            "source": "blueprint", "span": "You are Mira.", "applies": "it speaks twice", "item": "i", **change,
        }
    )  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@given(texts=st.lists(WORDS, min_size=1, max_size=4))
def test_any_texts_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, ending: str, texts: list[str]
) -> None:
    criteria = [made(n, text=text, span=text) for n, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("files") / f"k{ending}"
    path.write_text(criteria_text(criteria, ending), "utf-8", newline="")
    assert read_criteria(path) == criteria


def test_no_cell_begins_with_a_formula() -> None:
    text = criteria_text([made(text="=HYPERLINK(1)", span="-1", applies="@x", family="+1")], ".csv")
    assert all(f"'{start}" in text for start in ("=HYPERLINK", "-1", "@x", "+1"))


def test_a_line_without_an_id_gets_one_that_depends_on_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "k.csv"
    path.write_text(
        "family,mode,text,source,span\nf,m,one,blueprint,s\nf,m,two,blueprint,s\nf,m,one,blueprint,s\n", "utf-8"
    )
    first = read_criteria(path)
    assert len(first) == 2 and first == read_criteria(path) and first[0].id.startswith("k_")
    assert first[0].item is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("family,mode,text,source\nf,m,t,blueprint\n", "no column 'span'"),
        (",".join(COLUMNS) + "\n", "no criterion"),
        (",".join(COLUMNS) + "\nk,i,f,m,t,,sample,s\n", "source"),
        (",".join(COLUMNS) + "\nk,i,f,m,t,,blueprint,s\nk,i,f,m,other,,blueprint,s\n", "stands for another"),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "k.csv"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        read_criteria(path)
