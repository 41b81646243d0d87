"""A file of seeds is checked before anything is made of it; the same as a dict means the same."""

from pathlib import Path
from typing import Any

import pytest

from spectral_spark.data.seeds import check_room, checked_seeds, load_seeds, number_of_topics, seeds_of
from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.model_files import checked_summary

FILE = """
strength = 2
[[topics]]
name = "natural gas"
words = ["gas", "pipeline"]
not = ["football"]
topic = 3
[[topics]]
name = "power"
words = {power = 1, grid = 0.5}
strength = 4
[background]
"""


def test_a_file_and_a_dict_mean_the_same(tmp_path: Path) -> None:
    path = tmp_path / "seeds.toml"
    path.write_text(FILE)
    seeds = load_seeds(str(path))
    assert seeds["topics"][0] == {
        "name": "natural gas", "words": {"gas": 2.0, "pipeline": 2.0}, "not": {"football": 2.0}, "topic": 3,
    }
    assert seeds["topics"][1]["words"] == {"power": 1.0, "grid": 0.5}
    assert seeds["background"] == {"strength": 2.0, "topic": None}
    assert number_of_topics(seeds) == 3
    assert checked_seeds(seeds | {"strength": 2}) == seeds == seeds_of(str(path)) == seeds_of(seeds)
    assert checked_seeds({"gas": ["gas"], "power": "power grid"})["topics"][1]["words"] == {"power": 1.0, "grid": 1.0}
    assert seeds_of(None) is None
    only = seeds_of(None, background=True)
    assert only is not None
    assert number_of_topics(only) == 1


@pytest.mark.parametrize(("given", "message"), [
    ({"topics": [{"name": "a", "word": ["x"]}]}, "'word' in topic 'a', which is not known; did you mean 'words'"),
    ({"topics": [{"name": "a\x1b[2J", "words": ["x"]}]}, r"control characters in the name 'a\\x1b"),
    ({"topics": [{"name": "a\u202eb", "words": ["x"]}]}, "control characters"),
    ({"topics": [{"name": "a", "words": ["x\x00"]}]}, "control characters in a word"),
    ({"topics": [{"name": "a", "words": [3]}]}, "has 3 as a word"),
    ({"topics": [{"name": "a", "words": [["x"]]}]}, r"has \['x'\] as a word"),
    ({"topics": [{"name": "a", "words": []}]}, "has no words in topic 'a'"),
    ({"topics": [{"name": "a", "words": ["x"] * 1001}]}, "has 1,001 words"),
    ({"topics": [{"name": "a", "words": ["x" * 201]}]}, "has a word of 201 characters"),
    ({"topics": [{"name": "", "words": ["x"]}]}, "as the name in topic 1"),
    ({"topics": [{"name": "n" * 201, "words": ["x"]}]}, "has the name of 201 characters"),
    ({"topics": [{"name": "a", "words": ["x"], "not": ["x"]}]}, "among both"),
    ({"topics": [{"name": "a", "words": ["x"], "strength": float("nan")}]}, "the strength nan"),
    ({"topics": [{"name": "a", "words": {"x": True}}]}, "the strength True of 'x'"),
    ({"topics": [{"name": "a", "words": ["x"], "strength": 1e9}]}, "at most 100"),
    ({"topics": [{"name": "a", "words": ["x"], "topic": -1}]}, "has -1 as 'topic'"),
    ({"topics": [{"name": "a", "words": ["x"], "topic": 2**40}]}, "has 1099511627776 as 'topic'"),
    ({"topics": [{"name": "a", "words": ["x"], "strength": 10**400}]}, "the strength 10000"),
    ({"topics": [{"name": "a", "words": ["x"], "strength": 16**5000}]}, "the strength a number of 20,001 bits"),
    ({"topics": [{"name": "a", "words": ["x"]}, {"name": "A", "words": ["y"]}]}, "two topics called 'a'"),
    ({"topics": [{"name": "a", "words": ["x"], "topic": 1}, {"name": "b", "words": ["y"], "topic": 1}]}, "number 1"),
    ({"topics": [{"name": str(n), "words": ["x"]} for n in range(1001)]}, "at most 1000"),
    ({"topics": 3}, "of another kind"),
    ({"topics": ["x"]}, "has 'x' as topic 1"),
    ({"topics": [], "background": 5}, "has 5 as background"),
    ({"topics": [], "backgruond": {}}, "did you mean 'background'"),
])
def test_what_cannot_be_seeds_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        seeds_of(given)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "seeds.toml"
    for content, message in (
        (b"\xff\xfe", "UTF-8"), (b"[[topics", "not valid TOML"), (b"#" * (5 << 20), "bytes"),
        (b"strength = " + b"9" * 5000, "too many digits"), (b"x = " + b"[" * 10_000, "nested too deeply"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_seeds(str(path))
    with pytest.raises(InputError, match="no file of seeds"):
        load_seeds(str(tmp_path))


def test_seeds_need_room() -> None:
    seeds = checked_seeds({"topics": [{"name": "a", "words": ["x"], "topic": 4}], "background": {}})
    check_room(seeds, 5)
    with pytest.raises(InputError, match="asks for the number 4"):
        check_room(seeds, 4)
    with pytest.raises(InputError, match="raise `k` to at least 2"):
        check_room(seeds, 1)


@pytest.mark.parametrize("change", [
    {"lineage": ["0"]}, {"lineage": [1, 2]}, {"seeds": {"topics": 3}}, {"seeds": {"topics": [{}]}},
    {"seeds": {"topics": [], "background": 2}}, {"seeds": {"topics": [], "background": "x"}},
])
def test_a_damaged_run_report_is_refused(change: dict[str, Any]) -> None:
    assert checked_summary({"k": 2, "lineage": ["0", "1"], "seeds": {"topics": [], "background": 1}}, "summary.json")
    with pytest.raises(FormatError, match=r"summary\.json"):
        checked_summary({"k": 2, **change}, "summary.json")
