"""Configuration files: flags win over them, and a typo anywhere in them is found before any work starts."""

import re
from pathlib import Path

import pytest

from spectral_spark.cli.config import read_config
from spectral_spark.cli.parsing import Request, parse
from spectral_spark.cli.verb import verbs
from spectral_spark.errors import SettingsError

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
    assert settings.concentrations == (0.5, 2.0)
    assert settings.group_balance == 0.5
    assert settings.overwrite is True


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
    ('[fit]\nk = "many"\n', "[fit] k: 'many' is not a whole number"),
    ('[fit]\nk = true\n', "[fit] k: expected"),
    ('[fit]\noverwrite = "yes"\n', "expected true or false"),
    ('fit = 3\n', "'fit' must be a table"),
    ('[fit\n', "is not TOML"),
    ('[spark]\nexecutor.memory = [1]\n', "expected a text or a number"),
    ('[spark]\nspark = "local"\n', "[spark] 'spark' is no name of a Spark setting"),
    ('[spark]\n"driver memory" = "3g"\n', "[spark] 'spark.driver memory' is no name of a Spark setting"),
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
