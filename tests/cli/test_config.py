"""Configuration files: flags win over them, and a typo anywhere in them is found before any work starts."""

import json
import re
from pathlib import Path

import pytest

from spectral_spark.cli.config import read_config
from spectral_spark.cli.parsing import Request, parse
from spectral_spark.cli.verb import verbs
from spectral_spark.cli.verbs.fit import fit_settings, parameters
from spectral_spark.data.setting import Audience
from spectral_spark.data.settings import HDP
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings

CONF = Path(__file__).parents[2] / "conf"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return str(path)


def request(*words: str) -> Request:
    parsed = parse(list(words))
    assert isinstance(parsed, Request)
    return parsed


def test_a_file_supplies_what_flags_do_not(tmp_path: Path) -> None:
    path = written(tmp_path, '[fit]\ncorpus = "c"\nmodel = "m"\nk = 20\nconcentrations = [0.5, 2]\noverwrite = true\n'
                   'group-balance = 0.5\n')
    settings = request("fit", "--config", path, "--k", "auto").settings
    assert (settings.corpus, settings.model, settings.k) == ("c", "m", "auto")
    assert settings.concentrations == [0.5, 2.0]
    assert settings.group_balance == 0.5
    assert settings.overwrite is True


def test_a_file_reaches_every_setting_of_a_fit(tmp_path: Path) -> None:
    keys = [setting for setting in HDP.for_audience(Audience.EVERYONE, Audience.EXPERTS) if setting.default is not None]
    lines = [f"{setting.flag} = {json.dumps(setting.default)}" for setting in keys]
    path = written(tmp_path, "\n".join(["[fit]", 'corpus = "c"', 'model = "m"', *lines]))
    settings = request("fit", "--config", path).settings
    assert parameters(settings) == {setting.name: setting.default for setting in keys}
    assert fit_settings(settings) == FitSettings()


def test_a_number_may_stand_where_a_text_looks_like_one(tmp_path: Path) -> None:
    path = written(tmp_path, '[ingest]\nsource = "folders"\ninput = "i"\noutput = "o"\nholdout = 1000\n')
    assert request("ingest", "--config", path).settings.holdout == "1000"


def test_underscores_are_as_good_as_dashes(tmp_path: Path) -> None:
    path = written(tmp_path, '[ingest]\nsource = "folders"\ninput = "i"\noutput = "o"\nvocab_size = 500\n')
    assert request("ingest", "--config", path).settings.vocab_size == 500


def test_spark_settings_come_from_their_own_table(tmp_path: Path) -> None:
    path = written(tmp_path, '[spark]\nmaster = "local[2]"\ndriver.memory = "3g"\n"spark.ui.enabled" = true\n')
    spark = request("fit", "--config", path, "--corpus", "c", "--model", "m").spark
    assert spark == {"spark.master": "local[2]", "spark.driver.memory": "3g", "spark.ui.enabled": "true"}
    path = written(tmp_path, '[spark]\nspark.driver.memory = "3g"\nspark.sql.ansi.enabled = false\n')
    spark = request("fit", "--config", path, "--corpus", "c", "--model", "m").spark
    assert spark == {"spark.driver.memory": "3g", "spark.sql.ansi.enabled": "false"}


@pytest.mark.parametrize(("text", "expected"), [
    ('[fit]\nrefine-pases = 3\n', "unknown key 'refine-pases' in [fit]; did you mean 'refine-passes'?"),
    ('[ingset]\nsource = "enron"\n', "unknown table [ingset]; did you mean 'ingest'?"),
    ('[ingest]\nvocab-sise = 3\n', "unknown key 'vocab-sise' in [ingest]; did you mean 'vocab-size'?"),
    ('[fit]\nzzz = 3\n', "unknown key 'zzz' in [fit]; it may have: corpus, model, k"),
    ('[fit]\nmaster = "local"\n', "give it on the command line, or as [spark] master"),
    ('[fit]\nk = "many"\n', "[fit] k is 'many'; give a whole number of at least 1, or 'auto'"),
    ('[fit]\nk = true\n', "[fit] k is True; give a whole number of at least 1, or 'auto'"),
    ('[fit]\noverwrite = "yes"\n', "[fit] overwrite is 'yes'; give true or false"),
    ('[fit]\nk = [1]\n', "[fit] k is [1]; give a whole number of at least 1, or 'auto'"),
    ('[fit]\nk = 2.5\n', "[fit] k is 2.5; give a whole number"),
    ('[fit]\nk = inf\n', "[fit] k is inf; give a whole number"),
    ('[fit]\nmodel = 5\n', "[fit] model is 5; give a text"),
    ('[fit]\ncorpus = ["a", "b"]\n', "[fit] corpus is ['a', 'b']; give a text"),
    ('[fit]\nseed = 12345678901234567890\n', "[fit] seed is 12345678901234567890; give a whole number from 0 to"),
    ('[fit]\nsolver = 3\n', "[fit] solver is 3; choose one of auto, polar, power, als, sketch, implicit"),
    ('[fit]\nsolver = "polr"\n', "choose one of auto, polar, power, als, sketch, implicit; did you mean 'polar'?"),
    ('[fit]\nconcentrations = ["a"]\n', "[fit] concentrations has 'a' at place 0; give 'auto', 'calibrated' or"),
    ('[fit]\nword-scaling = 3\n', "[fit] word-scaling is 3; give a number from 0 to 1"),
    ('[fit]\ncorpus = 1979-05-27\n', "[fit] corpus is datetime.date(1979, 5, 27); give a text"),
    ('[fit]\ntopics = 5\n', "unknown key 'topics' in [fit]; did you mean 'k'?"),
    ('[ingest]\nholdout = true\n', "[ingest] holdout is True; give a text or a whole number"),
    ('[ingest]\npath-cols = [1]\n', "[ingest] path-cols has 1 at place 0; give a list of names"),
    ('[ibp]\nnoise-variance = -1\n', "[ibp] noise-variance is -1; give a number of at least 0"),
    ('fit = 3\n', "'fit' must be a table"),
    ('[fit\n', "is not valid TOML"),
    (f'[fit]\nk = {"9" * 5000}\n', "is not valid TOML: a number in it has too many digits"),
    (f'[fit]\nk = {"[" * 10_000}\n', "is not valid TOML: it is nested too deeply"),
    ('[spark]\nexecutor.memory = [1]\n', "[spark] spark.executor.memory is [1]; give a text or a number"),
    ('[spark]\nspark = "local"\n', "[spark] 'spark' is not the name of a Spark setting"),
    ('[spark]\n"driver memory" = "3g"\n', "[spark] 'spark.driver memory' is not the name of a Spark setting"),
])
def test_mistakes_are_refused_with_where_they_are(tmp_path: Path, text: str, expected: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError, match=re.escape(expected)) as refusal:
        parse(["fit", "--config", path, "--corpus", "c", "--model", "m"])
    assert path in str(refusal.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no configuration file"):
        parse(["fit", "--config", str(tmp_path / "none.toml")])


@pytest.mark.parametrize("name", ["demo.toml", "enron.toml", "amazon.toml"])
def test_the_shipped_files_are_valid(name: str) -> None:
    config = read_config(str(CONF / name), verbs())
    assert config.settings


@pytest.mark.parametrize("name", ["enron.toml", "amazon.toml"])
def test_the_shipped_files_cover_the_whole_pipeline(name: str) -> None:
    for verb in ("ingest", "fit", "score", "evaluate", "report"):
        assert request(verb, "--config", str(CONF / name)).verb.name == verb
