"""What a model remembers about its words, and what it refuses."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.text.dropped_lines import LineFilter, line_key, load_lines
from spectral_spark.text.language_tokeniser import load_tokeniser
from spectral_spark.text.text_recipe import TextCounter, TextRecipe

FULL = TextRecipe(("der",), 2, ("de", "en"), False, "json:loads", (("credit", "card"),), (line_key("bye"),))


def test_recipes_come_back_from_json() -> None:
    for recipe in (TextRecipe(("the", "and"), 4), FULL):
        assert TextRecipe.from_dict(json.loads(json.dumps(recipe.as_dict())), "m") == recipe
    assert TextRecipe((), 3).as_dict()["version"] == 1            # older releases read what they know


@pytest.mark.parametrize("change", [
    {"languages": ["klingon"]}, {"lemmas": 1}, {"tokeniser": 3}, {"phrases": [["a"]]}, {"phrases": [["a", 1]]},
    {"phrases": "ab"}, {"dropped_lines": [1]}, {"version": 3}, {"stop_words": "a"}, {"min_word_length": True},
])
def test_damaged_recipes_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        TextRecipe.from_dict({**FULL.as_dict(), **change}, "m")


def test_a_tokeniser_that_a_file_names_is_not_run() -> None:
    loaded = TextRecipe.from_dict({**FULL.as_dict(), "phrases": [], "tokeniser": "os:system"}, "m")
    with pytest.raises(InputError, match="name it again"):
        TextCounter(loaded, ["word"])
    assert TextCounter(loaded.using(str.split), ["rm"]).words("rm rm -r") == {"rm": 2, "-r": 1}


def test_a_tokeniser_of_ones_own_by_name() -> None:
    assert load_tokeniser("shlex:split")("a 'b c'") == ["a", "b c"]
    for name in ("shlex", "shlex:splitt", "no_such_module_here:f", "shlex:__doc__"):
        with pytest.raises(SettingsError, match="tokeniser"):
            load_tokeniser(name)


def test_a_recipe_travels_to_executors() -> None:
    counter = TextCounter(TextRecipe((), 3, phrases=(("credit", "card"),)), ["credit_card"])
    assert counter.words("credit card") == {"credit_card": 1}
    assert pickle.loads(pickle.dumps(counter)).words("credit card") == {"credit_card": 1}


def test_dropped_lines_are_found_whatever_their_case_and_spaces(tmp_path: Path) -> None:
    report = tmp_path / "lines.txt"
    report.write_text("# a comment\n120\t3\tThis message is CONFIDENTIAL\nplain line\n\n")
    keys = load_lines(str(report))
    assert keys == tuple(sorted([line_key("this message is confidential"), line_key("plain line")]))
    text = "hello\n  This   message is confidential\r\nbye\nPLAIN LINE"
    assert LineFilter(keys)(text) == "hello\nbye"
    recipe = TextRecipe((), 3, dropped_lines=keys)
    assert TextCounter(recipe, []).words(text) == {"hello": 1, "bye": 1}
    with pytest.raises(SettingsError, match="no readable"):
        load_lines(str(tmp_path / "absent"))
