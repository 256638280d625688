"""Tables of verdicts and of results: every spelling that is meant, and one sentence for everything that is not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate.episodes import EPISODE_COLUMNS, RESULT_COLUMNS, VERDICT_COLUMNS, EpisodeFrames
from annotate.errors import InputError
from annotate.fidelity_numbers import counts_behind, printed_rate
from annotate.fidelity_tables import looks_like, read_results, read_table, read_verdicts

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
CASES = SHARED / "cases"
HEAD = "proxy,domain,task,trial,criterion,family,verdict"


def write(path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def refused(read: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(*arguments, **options)
    said = str(caught.value)
    assert "\n" not in said and "Traceback" not in said, said
    return said


def frames(found: EpisodeFrames) -> tuple[pd.DataFrame, pd.DataFrame]:
    assert found.episodes is not None and found.verdicts is not None and found.results is None
    assert list(found.episodes) == EPISODE_COLUMNS and list(found.verdicts) == VERDICT_COLUMNS
    return found.episodes, found.verdicts


def test_every_spelling_of_a_verdict(tmp_path: Path) -> None:
    said = {
        "pass": ["pass", "PASS", " passed ", "true", "True", "1", "1.0", "yes", "Y"],
        "fail": ["fail", "Failed", "false", "0", "0.0", "no"],
        "na": ["na", "n/a", "N/A", "not_applicable", "not applicable", "Not-Applicable"],
        "missing": ["", "missing", "error", "None", "nan", "-"],
    }
    words = [(value, word) for value, some in said.items() for word in some]
    path = write(tmp_path / "v.csv", HEAD, *(f"p,d,t,0,c{n},f,{word}" for n, (_, word) in enumerate(words)))
    _, verdicts = frames(read_verdicts(path))
    assert list(verdicts["value"]) == [value for value, _ in words]


def test_facts_of_an_episode_may_stand_once_or_on_every_row(tmp_path: Path) -> None:
    path = write(
        tmp_path / "v.csv",
        "Proxy,Domain,task id,criterion,family,mode,verdict,reward,cost_usd,agent,status,turn,quote,agent_turns,"
        "seconds,x",
        "a,retail,7,c1,groundedness,self_contradiction,fail,1,0.02,gpt,,3,\"two\nlines, said\",5,1.5,!",
        "a,retail,7,c2,groundedness,,pass,1.0,,,,,,,,",
        "a,retail,8,,,,,,,,infrastructure_error,,,,,",
        "b,retail,7,c1,groundedness,,n/a,true,0,,ok,-1,,,,",
    )  # fmt: skip
    found = read_verdicts(path)
    episodes, verdicts = frames(found)
    assert list(episodes["reward"].fillna(-1)) == [1, -1, 1]
    assert list(episodes["cost_usd"].fillna(-1)) == [0.02, -1, 0] and list(episodes["cost_basis"]) == [
        "billed", "unknown", "billed",
    ]  # fmt: skip
    assert list(episodes["status"]) == ["ok", "infra_error", "ok"] and set(episodes["trial"]) == {"0"}
    assert (episodes["agent_turns"][0], episodes["seconds"][0], episodes["agent"][0]) == (5, 1.5, "gpt")
    assert len(verdicts) == 3 and verdicts["quote"][0] == "two\nlines, said" and verdicts["turn"][0] == 3
    assert list(verdicts["episode"]) == [episodes["episode"][0]] * 2 + [episodes["episode"][2]]
    assert pd.isna(verdicts["mode"][1]) and any("columns not used: x" in note for note in found.notes)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["p,d,t,0,c,f,pass", "p,d,t,0,c2,f,maybe"], "line 3: column 'verdict': 'maybe' is no verdict"),
        (["p,d,t,0,c,f,pas"], "did you mean 'pass'"),
        (["p,d,t,0,c,f,2"], "line 2: column 'verdict': '2' is no verdict"),
        (["p,d,,0,c,f,pass"], "line 2: column 'task' is empty"),
        (["p,d,t,0,,f,fail"], "column 'criterion' is empty beside the verdict 'fail'"),
        (["p,d,t,0,c,,pass"], "column 'family' is empty beside the criterion 'c'"),
        (["p,d,t,0,c,f,pass", "p,d,t,0,c,f,fail"], "line 3: criterion 'c' is 'fail' (f) and was 'pass'"),
        (["p,d,t,0,c,f"], "line 2: has 6 cells"),
        ([], "has no rows"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, lines: list[str], says: str) -> None:
    assert says in refused(read_verdicts, write(tmp_path / "v.csv", HEAD, *lines))


@pytest.mark.parametrize(
    ("column", "first", "second", "says"),
    [
        ("reward", "1", "0", "line 4: 'reward' is '0', and '1' on another row of the same episode"),
        ("agent", "gpt", "grok", "'agent' is 'grok', and 'gpt'"),
        ("status", "ok", "infra_error", "'status' is 'infra_error', and 'ok'"),
        ("reward", "x", "", "line 2: column 'reward': 'x' is no number"),
        ("reward", "nan", "", "'nan' is no number"),
        ("cost_usd", "-1", "", "'-1' is below 0"),
        ("status", "", "broken", "line 4: column 'status': 'broken' is no status"),
        ("agent_turns", "2.5", "", "'2.5' is no whole number"),
        ("rater_kind", "robot", "", "'robot' is no kind of rater"),
        ("turn", "-2", "", "'-2' is no whole number"),
    ],
)
def test_facts_of_an_episode_must_be_right_and_agree(
    tmp_path: Path, column: str, first: str, second: str, says: str
) -> None:
    path = write(tmp_path / "v.csv", f"{HEAD},{column}", f"p,d,t,0,a,f,pass,{first}", "p,d,u,0,a,f,pass,",
                 f"p,d,t,0,b,f,pass,{second}")  # fmt: skip
    assert says in refused(read_verdicts, path)


def test_a_line_is_found_behind_quoted_lines_and_in_every_format(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", f"{HEAD},quote", 'p,d,t,0,a,f,pass,"one', 'two"', "p,d,t,0,b,f,hm,")
    assert "line 4: column 'verdict': 'hm'" in refused(read_verdicts, path)
    rows = [dict(zip(HEAD.split(","), cells, strict=True)) for cells in
            (("p", "d", "t", 0, "a", "f", True), ("p", "d", "t", 0, "b", "f", "hm"))]  # fmt: skip
    lines = write(tmp_path / "v.jsonl", *(json.dumps(row) for row in rows))
    assert "line 2: column 'verdict': 'hm'" in refused(read_verdicts, lines)
    parquet = tmp_path / "v.parquet"
    pd.DataFrame(rows).astype(str).to_parquet(parquet)
    assert "row 2: column 'verdict': 'hm'" in refused(read_verdicts, parquet)


def test_the_three_formats_say_the_same(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"proxy": "p", "domain": "d", "task": 7, "trial": 0, "criterion": "a", "family": "f", "verdict": True,
         "reward": 1.0, "turn": 3, "quote": "naïve, 字"},
        {"proxy": "p", "domain": "d", "task": 7, "trial": 0, "criterion": "b", "family": "g", "verdict": False,
         "reward": 1.0, "turn": None, "quote": None},
        {"proxy": "p", "domain": "d", "task": 7, "trial": 1, "criterion": "a", "family": "f", "verdict": None,
         "reward": None, "turn": None, "quote": None},
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    table.to_csv(tmp_path / "v.csv", index=False)
    table.to_parquet(tmp_path / "v.parquet")
    write(tmp_path / "v.jsonl", *(json.dumps(row) for row in rows))
    table.to_csv(tmp_path / "semicolon.csv", index=False, sep=";", encoding="utf-8-sig")
    table.to_csv(tmp_path / "wide.csv", index=False, sep="\t", encoding="utf-16")
    paths = [tmp_path / n for n in ("v.csv", "v.parquet", "v.jsonl", "semicolon.csv", "wide.csv")]
    read = [frames(read_verdicts(path)) for path in paths]
    for episodes, verdicts in read[1:]:
        pd.testing.assert_frame_equal(episodes, read[0][0])
        pd.testing.assert_frame_equal(verdicts.astype(object), read[0][1].astype(object))
    assert read[0][1]["quote"][0] == "naïve, 字" and list(read[0][0]["task"]) == ["7", "7"]
    assert [looks_like(path) for path in paths] == ["verdicts"] * 5


def test_a_file_of_another_encoding_is_read_and_said(tmp_path: Path) -> None:
    found = read_verdicts(write(tmp_path / "v.csv", HEAD, "café,d,t,0,a,f,pass", encoding="cp1252"))
    assert frames(found)[0]["proxy"][0] == "café" and any("Windows-1252" in note for note in found.notes)


def test_repeated_rows_count_once_and_capital_na_is_pointed_out(tmp_path: Path) -> None:
    found = read_verdicts(write(tmp_path / "v.csv", HEAD, "p,d,t,0,a,f,NA", "p,d,t,0,a,f,n/a", "p,d,t,,b,f,1"))
    assert list(frames(found)[1]["value"]) == ["na", "pass"] and len(frames(found)[0]) == 1
    assert any("1 verdicts stand twice" in note for note in found.notes)
    assert any("NA was read as 'not applicable'" in note for note in found.notes)


def test_names_with_bars_are_not_taken_for_each_other(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", HEAD, "p | d,e,t,0,a,f,pass", "p,d | e,t,0,a,f,fail")
    assert frames(read_verdicts(path))[0]["episode"].nunique() == 2


def test_whose_verdicts_count(tmp_path: Path) -> None:
    head = f"{HEAD},rater,rater_kind"
    model, person = "p,d,t,0,a,f,pass,judge,model", "p,d,t,0,a,f,fail,ann,human"
    other = "p,d,t,0,a,f,fail,judge2,model"
    found = read_verdicts(write(tmp_path / "a.csv", head, person, model))
    assert list(frames(found)[1]["value"]) == ["pass"] and "verdicts of people are left out" in found.notes[0]
    both = write(tmp_path / "b.csv", head, model, other)
    assert "several raters judged the same" in refused(read_verdicts, both)
    assert list(frames(read_verdicts(both, rater="judge2"))[1]["value"]) == ["fail"]
    assert "did you mean 'judge2'" in refused(read_verdicts, both, rater="juge2")
    apart = write(tmp_path / "c.csv", head, model, "p,d,t,0,b,f,fail,judge2,model")
    assert len(frames(read_verdicts(apart))[1]) == 2


def test_columns_that_are_missing_or_stand_twice(tmp_path: Path) -> None:
    said = refused(
        read_verdicts, write(tmp_path / "a.csv", "proxy,domain,task,criterion,familly,verdict", "p,d,t,c,f,1")
    )
    assert "no column 'family'; did you mean 'familly'" in said
    said = refused(read_verdicts, write(tmp_path / "b.csv", f"{HEAD},Task ID", "p,d,t,0,c,f,1,t"))
    assert "columns 'task' and 'Task ID' both say 'task'" in said


def test_a_million_would_fit_since_columns_are_categories(tmp_path: Path) -> None:
    rows = (f"p{n % 7},d,t{n // 70},{n % 10},c{n % 5},f,{'pass' if n % 3 else 'fail'}" for n in range(70_000))
    _, verdicts = frames(read_verdicts(write(tmp_path / "v.csv", HEAD, *dict.fromkeys(rows))))
    assert all(isinstance(verdicts[name].dtype, pd.CategoricalDtype) for name in VERDICT_COLUMNS if name != "turn")
    assert verdicts.memory_usage(deep=True).sum() / len(verdicts) < 200


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"proxy": "p", "domain": "d", "task": [7], "criterion": "a", "family": "f", "verdict": 1}', "holds a list"),
        ('{"proxy": "p", "proxy": "q", "task": "t"}', "key 'proxy' stands twice"),
        ('{"proxy": "p", "domain": NaN}', "NaN is not a JSON value"),
        ('[["proxy", "p"], ["domain", "d"]]', "is no JSON object"),
        ('{"proxy": "p", "domain": "d"', "not valid JSON"),
    ],
)
def test_a_line_that_is_no_row_is_refused(tmp_path: Path, text: str, says: str) -> None:
    good = '{"proxy": "p", "domain": "d", "task": 7, "criterion": "a", "family": "f", "verdict": "pass"}'
    said = refused(read_verdicts, write(tmp_path / "v.jsonl", good, text))
    assert says in said and "line 2" in said, said


def test_names_keep_their_texts_in_json_lines(tmp_path: Path) -> None:
    row = {"proxy": "2026-01-01", "domain": "d", "criterion": "a", "family": "f", "verdict": 1, "quote": "a \ud800 b"}
    tasks = ["2026-01-01", 7, 7.0, "7.0", True, 10**22, 0.1]
    path = write(
        tmp_path / "v.jsonl", *(json.dumps({**row, "task": task, "criterion": str(n)}) for n, task in enumerate(tasks))
    )
    episodes, verdicts = frames(read_verdicts(path))
    assert list(episodes["task"]) == ["2026-01-01", "7", "7.0", "true", "10000000000000000000000", "0.1"]
    assert set(episodes["proxy"]) == {"2026-01-01"} and set(verdicts["quote"]) == {"a ? b"}
    big = write(tmp_path / "b.jsonl", *(json.dumps({**row, "task": 10**22 + n, "quote": "q"}) for n in range(2)))
    assert len(frames(read_verdicts(big))[0]) == 2


# Results


def results(found: EpisodeFrames) -> pd.DataFrame:
    assert found.results is not None and found.episodes is None and list(found.results) == RESULT_COLUMNS
    return found.results


def test_printed_rates_become_counts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.csv", "proxy,domain,ufs,n,reward,n_reward,cost_usd,prompt_tokens",
        "a,x,.711,114,.438,96,.0558,\"53,111\"", "a,y,94.0 %,50,,50,,", "b,x,0.7105263157894737,114,1,114,$0.01,",
        "b,y,\"0,940\",50,0,50,0,",
    )  # fmt: skip
    found = read_results(path)
    rows = results(found)
    assert list(rows["faithful"]) == [81, 47, 81, 47] and list(rows["rewarded"].fillna(-1)) == [42, -1, 114, 0]
    assert list(rows["cost_usd"].fillna(-1)) == [0.0558, -1, 0.01, 0] and rows["prompt_tokens"][0] == 53111
    assert list(rows["cost_basis"]) == ["billed", "unknown", "billed", "billed"]
    assert [note for note in found.notes if "fits" in note], "1 of 114 by a rate of no decimals is many counts"


@pytest.mark.parametrize(
    ("rate", "n", "count", "fits"),
    [(".711", 114, 81, 1), (".438", 96, 42, 1), (".912", 113, 103, 1), (".5", 7, None, 0), (".5", 8, 4, 1),
     (".50", 1000, 500, 11), ("1.000", 50, 50, 1), ("0", 3, 0, 2), (".333", 3, 1, 1), (".125", 8, 1, 1),
         (".12", 8, 1, 1),
     (".13", 8, 1, 1), (".458", 97, None, 0), ("1e-1", 10, 1, 1), (".4", 0, None, 0)],
)  # fmt: skip
def test_the_count_behind_a_rate(rate: str, n: int, count: int | None, fits: int) -> None:
    found = counts_behind(printed_rate(rate), n)
    assert (found.count, found.fits) == (count, fits) if found else (count, fits) == (None, 0)


def test_every_share_is_found_again_from_three_digits() -> None:
    for n in (50, 96, 97, 113, 114):
        for count in range(n + 1):
            match = counts_behind(printed_rate(f"{count / n:.3f}"), n)
            assert match is not None and (match.count, match.fits) == (count, 1)


@pytest.mark.parametrize(
    ("head", "row", "says"),
    [
        ("proxy,ufs,n", "a,.458,97", "line 2: ufs .458 of 'a' is no whole number out of 97"),
        ("proxy,ufs,n", "a,1.2,97", "ufs: '1.2' is not between 0 and 1"),
        ("proxy,ufs,n", "a,good,97", "ufs: 'good' is no rate"),
        ("proxy,ufs,n", "a,.5,9.5", "n: '9.5' is no whole number"),
        ("proxy,ufs", "a,.5", "ufs of 'a' needs the number of episodes behind it. Add the column 'n'"),
        ("proxy,faithful,n", "a,5,4", "faithful is 5 of 4"),
        ("proxy,faithful,n,ufs", "a,3,4,.5", "faithful 3 of 4 is 0.7500, and ufs says .5"),
        ("proxy,cost_usd", "a,1", "has neither 'ufs' nor 'faithful'"),
        ("proxy,ufs,n,hosting", "a,.5,4,cloud", "hosting: 'cloud' says not where"),
        ("proxy,ufs,n,cost_usd", "a,.5,4,-1", "cost_usd: '-1' is below 0"),
        ("proxy,domain,ufs,n", "a,,.5,4", "column 'domain' is empty"),
        ("model,ufs,n", "a,.5,4", "has no column 'proxy'"),
    ],
)
def test_a_wrong_result_is_one_sentence(tmp_path: Path, head: str, row: str, says: str) -> None:
    said = refused(read_results, write(tmp_path / "r.csv", head, row))
    assert says in said, said


def test_one_table_without_domains_and_marks_at_the_numbers(tmp_path: Path) -> None:
    rows = results(read_results(write(tmp_path / "r.csv", "proxy,n,UFS,agent reward", "a †,50,.880∗,.84†")))
    assert rows.iloc[0][["proxy", "domain", "faithful", "rewarded"]].tolist() == ["a", "all", 44, 42]


def test_costs_from_a_second_table_and_means_that_do_not_fit(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "proxy,domain,ufs,n", "a,x,.5,4", "a,y,1,4")
    second = write(tmp_path / "b.csv", "proxy,mean_ufs,cost_usd,hosting", "a,.900,.02,open")
    found = read_results(first, second)
    assert list(results(found)["cost_usd"]) == [0.02, 0.02] and set(results(found)["cost_basis"]) == {"list"}
    assert any("ufs .900 of 'a' is not the mean over its domains, 0.7500" in note for note in found.notes)
    stray = write(tmp_path / "c.csv", "proxy,cost_usd", "b,.02")
    assert "proxy 'b' has no row with a domain" in refused(read_results, first, stray)
    against = write(tmp_path / "d.csv", "proxy,domain,faithful,n", "a,x,3,4")
    assert "faithful of 'a' in 'x' is 3.0, and 2.0" in refused(read_results, first, against)


def tidy() -> Path:
    return Path(str(files("usercal_data") / "userproxybench.csv"))


def test_the_shipped_table_gives_the_published_means() -> None:
    rows = results(read_results(tidy()))
    rows = rows.assign(ufs=rows["faithful"] / rows["n"], reward=rows["rewarded"] / rows["n_reward"])
    # UserProxyBench, Table 1: mean UFS and mean reward, unweighted over the four domains.
    published = {
        "Sonnet-4-6": (0.778, 0.784), "Gemini-3.5-Flash": (0.864, 0.796), "Qwen3.6-35B": (0.612, 0.779),
        "Gemma-31B": (0.845, 0.737), "Gemma-26B": (0.759, 0.720), "GPT-5.4-mini": (0.599, 0.644),
        "GPT-4.1-mini": (0.752, 0.720),
    }  # fmt: skip
    means = rows.groupby("proxy")[["ufs", "reward"]].mean()
    assert {name: tuple(mean.round(3)) for name, mean in means.iterrows()} == published
    assert rows["n"].sum() == 2618 and set(rows["cost_basis"]) == {"billed", "list"}


def shared_case(name: str) -> Path:
    if not (CASES / name).is_file():
        pytest.skip("the shared cases are not here")
    return CASES / name


@pytest.mark.parametrize("tables", [["table2"], ["table2", "table1"], ["table1", "table2"], ["counts_reconstructed"]])
def test_the_papers_tables_give_the_reconstructed_counts(tables: list[str]) -> None:
    truth = pd.read_csv(shared_case("userproxybench_counts_reconstructed.csv"))
    found = read_table([shared_case(f"userproxybench_{name}.csv") for name in tables])
    rows = results(found).merge(truth, on=["proxy", "domain"], suffixes=("", "_true"))
    assert len(rows) == len(truth) == 28
    pairs = {"faithful": "ufs_passes", "n": "n_ufs", "rewarded": "reward_successes", "n_reward": "n_reward_true"}
    for ours, theirs in pairs.items():
        assert list(rows[ours]) == list(rows[theirs]), ours
    assert not [note for note in found.notes if "not used" not in note]


def test_the_shipped_table_says_what_the_papers_tables_say() -> None:
    paper = results(read_results(shared_case("userproxybench_table2.csv"), shared_case("userproxybench_table1.csv")))
    pd.testing.assert_frame_equal(results(read_results(tidy())), paper)


def test_what_is_no_such_table_is_left_alone(tmp_path: Path) -> None:
    others: Iterable[Path] = (
        write(tmp_path / "chats.csv", "conversation,role,text", "1,user,hi"),
        write(tmp_path / "run.json", json.dumps({"simulations": [], "info": {}})),
        write(tmp_path / "empty.csv", ""),
        write(tmp_path / "twice.csv", "proxy,proxy,criterion,verdict", "a,b,c,1"),
        tmp_path, tmp_path / "absent.csv",
    )  # fmt: skip
    assert [looks_like(path) for path in others] == [None] * 6
    chats = tmp_path / "chats.csv"
    assert re.search("no table of verdicts .* and none of results", refused(read_table, [chats]))
    verdicts, result = (
        write(tmp_path / "v.csv", HEAD, "p,d,t,0,a,f,1"),
        write(tmp_path / "r.csv", "proxy,ufs,n", "a,1,2"),
    )
    assert looks_like(result) == "results" and looks_like(verdicts) == "verdicts"
    assert "stands alone" in refused(read_table, [verdicts, result])
