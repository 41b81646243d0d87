"""Files that come from the tables of settings: the accessors of the estimators, the parameters in their docstrings, and
the reference page.

``python -m spectral_spark.cli.generate``, run in a checkout after a change of ``data/settings.py``, rewrites them;
a test compares the committed files with the table.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import wrap

from spectral_spark.data.setting import Audience, Setting, SettingsTable
from spectral_spark.data.settings import HDP, IBP, INGEST

_WIDTH = 120
_MIXINS = {"featuresCol": "HasFeaturesCol", "seed": "HasSeed", "solver": "HasSolver"}
_ACCESSORS = {
    "spectral_spark/ml/hdp_accessors.py": HDP,
    "spectral_spark/ml/ibp_accessors.py": IBP,
}
_ESTIMATORS = {"spectral_spark/ml/hdp.py": HDP, "spectral_spark/ml/ibp.py": IBP}
_PARAMETERS = re.compile(r"(?<=    Parameters\n    ----------\n).*?(?=\n\n    Examples\n)", re.S)


def generated_files(root: Path = Path()) -> dict[str, str]:
    """The content of every generated file, by its path in the checkout at ``root``."""
    files = {path: accessors(table) for path, table in _ACCESSORS.items()}
    files |= {path: with_parameters((root / path).read_text(encoding="utf-8"), table)
              for path, table in _ESTIMATORS.items()}
    return files | {"docs/reference/settings.md": reference_page()}


def with_parameters(module: str, table: SettingsTable) -> str:
    """The module of an estimator, with the parameters in its docstring, the first of the module, as the table says."""
    entries = "\n".join(_entry(setting) for setting in table)
    return _PARAMETERS.sub(lambda _: entries, module, count=1)


def _entry(setting: Setting) -> str:
    """A parameter in the docstring of a class."""
    unnamed = any(option not in setting.help for option in setting.options)
    options = f" One of {', '.join(setting.options)}." if unnamed else ""
    default = f" Default {setting.default_text}." if setting.default is not None else ""
    return "\n".join(wrap(f"{setting.name} : {setting.help}{options}{default}", _WIDTH, initial_indent=" " * 4,
                          subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False))


def accessors(table: SettingsTable) -> str:
    """A Python module with the parameters of a table as classes that estimators and models inherit."""
    name, signature = table.title.removeprefix("Spectral"), _signature(table)
    shared = [setting for setting in table if _of_the_model(table, setting)]
    others = [setting for setting in table if setting not in shared]
    columns = [setting for setting in shared if setting.name.endswith("Col")]
    rest = [setting for setting in table if setting not in columns]
    sequences = "from collections.abc import Sequence\n" if "Sequence" in signature else ""
    return f'''"""Parameters of {table.title} with their getters and setters.

Generated from ``data/settings.py`` by ``python -m spectral_spark.cli.generate``: change the table, not this file.
"""

{sequences}from typing import Any

from pyspark.ml.param import Param
from pyspark.ml.param.shared import {", ".join(sorted(_mixins(table)))}
from typing_extensions import Self

from spectral_spark.data.settings import {name}
from spectral_spark.ml.table_params import TableParams, given_keywords, param


class {name}ModelParams({", ".join(["TableParams", *_mixins(shared)])}):
    """Parameters that the estimator shares with its model, and the setters of the columns."""

    _table = {name}
{_params(name, shared).strip(chr(10))}
{"".join(map(_getter, shared))}{"".join(map(_setter, columns))}

class {name}EstimatorParams({", ".join([f"{name}ModelParams", *_mixins(others)])}):
    """Everything that the estimator can be told."""
{_params(name, others)}
    @given_keywords
    def __init__(
{signature}
    ) -> None:
        super().__init__()
        self._set_given(self._input_kwargs)

    @given_keywords
    def setParams(
{signature}
    ) -> Self:
        """Set several parameters by name; None leaves one unset."""
        return self._set_given(self._input_kwargs)
{"".join(map(_getter, others))}{"".join(map(_setter, rest))}'''


def _of_the_model(table: SettingsTable, setting: Setting) -> bool:
    """Whether the model has the parameter too. That of SpectralHDP keeps all, as it was saved with them from the first
    version on.
    """
    return table is HDP or setting.audience == Audience.COLUMNS or setting.name == "missing"


def _mixins(settings: Iterable[Setting]) -> list[str]:
    return sorted(_MIXINS[setting.name] for setting in settings if setting.name in _MIXINS)


def _params(table: str, settings: Iterable[Setting]) -> str:
    lines = [f'    {setting.name}: "Param[Any]" = param({table}["{setting.name}"])' for setting in settings]
    return "\n".join(["", *lines, ""]) if lines else ""


def _optional(setting: Setting) -> str:
    return setting.type.annotation + (" | None" if setting.default is None else "")


def _signature(table: SettingsTable) -> str:
    parts = [f"{s.name}: {_optional(s)} = {_literal(s.default)}," for s in table]
    return "\n".join(wrap(" ".join(["self,", "*,", *(part.replace(" ", "\0") for part in parts)]), _WIDTH - 8)) \
        .replace("\0", " ").replace("\n", "\n" + " " * 8).join([" " * 8, ""])


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _accessor(setting: Setting, verb: str) -> str:
    return f"{verb}{setting.name[0].upper()}{setting.name[1:]}"


def _docstring(text: str) -> str:
    """A docstring inside a method, on one line where it fits."""
    if len(text) + 14 <= _WIDTH:
        return f'        """{text}"""'
    first, _, rest = text.partition(". ")
    if not rest or len(first) + 12 > _WIDTH:
        lines = wrap(text, _WIDTH - 11)
        return "\n".join([f'        """{lines[0]}', *(f"        {line}" for line in lines[1:]), '        """'])
    lines = [f"        {line}" for line in wrap(rest, _WIDTH - 8)]
    return "\n".join([f'        """{first}.', "", *lines, '        """'])


def _getter(setting: Setting) -> str:
    return (f"\n    def {_accessor(setting, 'get')}(self) -> {_value_type(setting)}:\n"
            f"{_docstring(setting.help)}\n        return self._value(\"{setting.name}\")\n")


def _value_type(setting: Setting) -> str:
    """The canonical value's type: what a getter returns."""
    kind = {"Sequence[str]": "list[str]", "str | Sequence[str]": "str | list[str]",
            "str | float | Sequence[float]": "str | list[float]"}
    known = kind.get(setting.type.annotation, setting.type.annotation)
    return known + (" | None" if setting.default is None else "")


def _setter(setting: Setting) -> str:
    return (f"\n    def {_accessor(setting, 'set')}(self, value: {setting.type.annotation} | None) -> Self:\n"
            f"{_docstring(setting.help)}\n        return self._set_given({{\"{setting.name}\": value}})\n")


def reference_page() -> str:
    """``docs/reference/settings.md``."""
    return "\n".join([
        "# Settings",
        "",
        "<!-- Generated from spectral_spark/data/settings.py by `python -m spectral_spark.cli.generate`. -->",
        "",
        "Every setting has one name in three spellings: `basisSize` as a parameter in Python (with `getBasisSize` and",
        "`setBasisSize`), `--basis-size` on the command line, and `basis-size = 60` in the verb's table of a",
        "configuration file (`--config FILE.toml`; flags win over it). A value that is not allowed is refused before",
        "any work starts.",
        "",
        "## Topics: `SpectralHDP`, `spectral-spark fit`",
        "",
        *_sections(HDP, ()),
        "## Features: `SpectralIBP`, `spectral-spark ibp`",
        "",
        *_sections(IBP, ("featuresCol", "idCol", "codesCol", "activityCol")),
        "## Corpora: `spectral-spark ingest`",
        "",
        "| command line, TOML | values | default | what it does |",
        "|---|---|---|---|",
        *(_row(f"`--{setting.flag}`", *_described(setting)) for setting in INGEST),
    ]).rstrip() + "\n"


def _sections(table: SettingsTable, column_flags: tuple[str, ...]) -> Iterable[str]:
    for title, audience, note in (
        ("For everyone", Audience.EVERYONE, ""),
        ("For experts", Audience.EXPERTS, "The defaults suit almost every corpus."),
        ("Columns of a DataFrame", Audience.COLUMNS,
         "These are for Python; the command line knows the columns of a corpus." if not column_flags else ""),
    ):
        yield from (f"### {title}", "", *((note, "") if note else ()))
        yield "| Python | command line, TOML | values | default | what it does |"
        yield "|---|---|---|---|---|"
        for setting in table.for_audience(audience):
            flagged = audience != Audience.COLUMNS or setting.name in column_flags
            yield _row(f"`{setting.name}`", f"`--{setting.flag}`" if flagged else "—", *_described(setting))
        yield ""


def _described(setting: Setting) -> tuple[str, str, str]:
    default = "required" if setting.required else f"`{setting.default_text}`" if setting.default is not None else "—"
    return setting.type.expected, default, setting.help


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main(root: Path = Path()) -> None:
    """Write the files into the checkout at ``root``."""
    for path, text in generated_files(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
