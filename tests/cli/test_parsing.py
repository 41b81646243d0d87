"""Flags: what is understood, what is refused, and what the refusal says."""

import re
import shlex

import pytest

from spectral_spark.cli.parsing import Request, help_page, parse
from spectral_spark.cli.run import main
from spectral_spark.cli.verb import verbs
from spectral_spark.data.setting import Audience
from spectral_spark.data.settings import HDP, IBP
from spectral_spark.errors import SettingsError

FIT = ["fit", "--corpus", "c", "--model", "m"]


def settings(*words: str) -> dict:
    request = parse([*FIT, *words])
    assert isinstance(request, Request)
    return vars(request.settings)


def test_flags_are_read_into_values() -> None:
    read = settings("--k", "50", "--concentrations", "0.5,2", "--layers", "3", "--refine-passes=0", "--overwrite")
    assert read["k"] == 50
    assert read["concentrations"] == [0.5, 2.0]
    assert read["layers"] == 3
    assert read["refine_passes"] == 0
    assert read["overwrite"] is True
    assert settings("--k", "auto", "--layers", "all")["k"] == "auto"
    assert [settings("--group-balance", text)["group_balance"] for text in ("0", "0.5", "1")] == [0.0, 0.5, 1.0]


def test_what_is_not_given_is_left_to_the_library() -> None:
    read = settings()
    assert read["k"] is None
    assert read["seed"] is None
    assert read["overwrite"] is False


def test_spark_settings_may_be_repeated() -> None:
    read = settings("--spark-conf", "spark.executor.memory=4g", "--spark-conf", "spark.x=a=b")
    assert read["spark_conf"] == (("spark.executor.memory", "4g"), ("spark.x", "a=b"))


@pytest.mark.parametrize(("words", "expected"), [
    (["fti"], "unknown verb 'fti'; did you mean 'fit'?"),
    (["frobnicate"], "verbs: "),
    (["--verbose"], "unknown flag '--verbose'"),
    ([*FIT, "--refine-pases", "3"], "unknown flag '--refine-pases' for fit; did you mean '--refine-passes'?"),
    ([*FIT, "--refine_passes=3"], "did you mean '--refine-passes'?"),
    ([*FIT, "--sol", "polar"], "unknown flag '--sol' for fit"),
    ([*FIT, "--topics", "50"], "unknown flag '--topics' for fit; did you mean '--k'?"),
    ([*FIT, "--num-topics=50"], "did you mean '--k'?"),
    ([*FIT, "--output", "m"], "did you mean '--model'?"),
    ([*FIT, "--force"], "did you mean '--overwrite'?"),
    ([*FIT, "--alpha", "1"], "did you mean '--concentrations'?"),
    ([*FIT, "--random-state", "1"], "did you mean '--seed'?"),
    ([*FIT, "--basissize", "60"], "did you mean '--basis-size'?"),
    ([*FIT, "--seed", "12345678901234567890"], "--seed is '12345678901234567890'; give a whole number from 0 to"),
    ([*FIT, "stray"], "unexpected argument 'stray'"),
    ([*FIT, "--k"], "--k needs a value"),
    ([*FIT, "--k", "fifty"], "--k is 'fifty'; give a whole number of at least 1, or 'auto'"),
    ([*FIT, "--k", "0"], "--k is '0'; give a whole number of at least 1, or 'auto'"),
    ([*FIT, "--k", "2.5"], "--k is '2.5'; give a whole number"),
    ([*FIT, "--solver", "polr"],
     "--solver is 'polr'; choose one of auto, polar, power, als, sketch, implicit; did you mean 'polar'?"),
    ([*FIT, "--layers", "1"], "--layers is '1'; give a whole number of at least 2, or 'all'"),
    ([*FIT, "--concentrations", "1,-2"], "--concentrations is '1,-2'; give 'auto', 'calibrated' or positive numbers"),
    ([*FIT, "--concentrations", "1,x"], "--concentrations is '1,x'; give 'auto', 'calibrated' or positive numbers"),
    ([*FIT, "--group-balance", "-0.5"], "--group-balance is '-0.5'; give a number from 0 to 1"),
    ([*FIT, "--group-balance", "1.5"], "--group-balance is '1.5'; give a number from 0 to 1"),
    ([*FIT, "--group-balance", "nan"], "--group-balance is 'nan'; give a number from 0 to 1"),
    ([*FIT, "--group-balance", "half"], "--group-balance is 'half'; give a number from 0 to 1"),
    ([*FIT, "--spark-conf", "spark.executor.memory"], "is not KEY=VALUE"),
    ([*FIT, "--spark-conf", "executor.memory=4g"], "'executor.memory' is no setting of Spark; their names begin with"),
    ([*FIT, "--spark-conf", "spark.=4g"], "'spark.' is no setting of Spark"),
    (["fit", "--model", "m"], "fit needs --corpus"),
    (["fit"], "fit needs --corpus and --model"),
    (["ingest", "--source", "maildir", "--input", "a", "--output", "b"], "is 'maildir'; choose one of enron, amazon"),
    (["ingest", "--source", "table", "--input", "a", "--output", "b", "--max-document-share", "3"],
     "--max-document-share is '3'; give a number above 0 and up to 1"),
])
def test_mistakes_are_refused_with_what_was_meant(words: list[str], expected: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(expected)):
        parse(words)


def test_usage_errors_exit_with_two_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--lodel", "m"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "spectral-spark: unknown flag '--lodel' for fit; did you mean '--model'?\n"


def test_no_verb_prints_the_overview_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: spectral-spark VERB" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(verbs()))
def test_every_verb_teaches_with_an_example_that_parses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    page = capsys.readouterr().out
    verb = verbs()[name]
    assert verb.example in page
    assert all(f"--{flag.name}" in page for flag in verb.all_flags)
    words = shlex.split(verb.example)
    assert words[:2] == ["spectral-spark", name]
    assert isinstance(parse(words[1:]), Request)


def test_overview_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(verb.summary in page for verb in verbs().values())
    assert main(["--version"]) == 0


def test_every_setting_of_an_estimator_has_its_flag() -> None:
    fit, ibp = verbs()["fit"], verbs()["ibp"]
    assert all(fit.flag(setting.flag) for setting in HDP.for_audience(Audience.EVERYONE, Audience.EXPERTS))
    assert all(ibp.flag(setting.flag) for setting in IBP if setting.name != "reconstructionCol")


def test_help_puts_expert_settings_apart_and_states_the_defaults() -> None:
    page = help_page(verbs()["fit"])
    common, expert = page.index("settings:"), page.index("expert settings")
    assert common < page.index("--k N|auto") < expert < page.index("--basis-size N|auto") < page.index("running:")
    assert "Random seed." in page
    assert "Default: 0.25." in page
