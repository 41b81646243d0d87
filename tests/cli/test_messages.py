"""Messages name the flags of the command line where Python's would name parameters."""

import pytest

from spectral_spark.cli.failures import explain
from spectral_spark.cli.messages import with_flags
from spectral_spark.errors import SettingsError


@pytest.mark.parametrize(("message", "shown"), [
    ("raise `basisSize` to 50", "raise --basis-size to 50"),
    ("skip them with `skipKnown=True`", "skip them with --skip-known"),
    ('use `missing="mean"`', "use --missing mean"),
    ("try `exploreSweeps=0` or `min_documents`", "try --explore-sweeps 0 or --min-documents"),
    ("column `features` and `x y`", "column `features` and `x y`"),
    ("`termsCol` and `countsCol` go together", "`termsCol` and `countsCol` go together"),
    ("basisSize without backticks", "basisSize without backticks"),
])
def test_settings_become_flags(message: str, shown: str) -> None:
    assert with_flags(message) == shown


def test_errors_are_reported_with_flags_also_from_a_worker() -> None:
    assert explain(SettingsError("raise `basisSize`"))[0] == "raise --basis-size"
    inside = RuntimeError("Traceback …\nspectral_spark.errors.InputError: set `missing=\"mean\"`\n")
    assert explain(inside)[0] == "set --missing mean"
