from typing import Any

import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings


@pytest.mark.parametrize(("value", "holdout"), [
    (5, Holdout(5)), ("1000", Holdout(1000)), ("100/group", Holdout(100, True)),
])
def test_holdouts(value: str | int, holdout: Holdout) -> None:
    settings = IngestSettings("enron", "in", "out", holdout=value)
    assert settings.split == holdout
    assert settings.for_manifest()["holdout"] == str(value)


@pytest.mark.parametrize(("changes", "message"), [
    ({"source": "enorn"}, "did you mean 'enron'"),
    ({"holdout": "0"}, "`holdout` is '0'; give N or N/group"),
    ({"holdout": "10%"}, "give N or N/group"),
    ({"vocab_size": 0}, "`vocab_size` is 0"),
    ({"vocab_size": 2**31}, "`vocab_size` is 2,147,483,648; word ids end at"),
    ({"min_documents": 1.5}, "`min_documents` is 1.5; give a whole number"),
    ({"max_document_share": 1.2}, "give a number above 0 and up to 1"),
    ({"missing_path": "ignore"}, "`missing_path` is 'ignore'; choose one of"),
    ({"text_col": "x"}, "`text_col` can be used only with `source=table`"),
    ({"source": "table"}, "either `text_col` or `tokens_col`"),
    ({"source": "table", "text_col": "a", "tokens_col": "b"}, "either `text_col` or `tokens_col`"),
    ({"source": "table", "text_col": "a", "format": "xls"}, "`format` is 'xls'; choose one of"),
    ({"input": ""}, "`input` is empty"),
])
def test_wrong_settings_say_what_to_do(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        IngestSettings(**{"source": "enron", "input": "in", "output": "out", **changes})


def test_defaults_by_source() -> None:
    assert IngestSettings("enron", "i", "o").document_share == 0.5
    assert IngestSettings("uci", "i", "o").document_share == 1.0
    assert IngestSettings("table", "i", "o", tokens_col="t").document_share == 1.0
    assert IngestSettings("enron", "i", "o").duplicates_dropped
    assert not IngestSettings("folders", "i", "o").duplicates_dropped
    assert IngestSettings("table", "i", "o", text_col="t", path_cols="a").path_cols == ("a",)  # type: ignore[arg-type]
