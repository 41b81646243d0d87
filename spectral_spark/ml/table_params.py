"""pyspark.ml parameters that come from a table of settings: declared, checked, set and explained in one way."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from pyspark.ml.param import Param, Params
from typing_extensions import Self

from spectral_spark.data.setting import Setting, SettingsTable

Method = TypeVar("Method", bound=Callable[..., Any])
_LONGEST = 60


def param(setting: Setting) -> "Param[Any]":
    """A setting as a pyspark.ml parameter."""
    return Param(Params._dummy(), setting.name, setting.help, setting.check)


def given_keywords(method: Method) -> Method:
    """Keep the keywords of a call in ``_input_kwargs``, and refuse an unknown one with the name that was meant."""

    @functools.wraps(method)
    def keeping(self: "TableParams", **given: Any) -> Any:
        self._check_names(given)
        self._input_kwargs = given
        return method(self, **given)

    return keeping  # type: ignore[return-value]


class TableParams(Params):
    """Base of the estimators' parameters; ``_table`` says what there is."""

    _table: ClassVar[SettingsTable]
    _input_kwargs: dict[str, Any]

    def __init__(self) -> None:
        Params.__init__(self)       # not the mixins': the default of HasSeed differs in every process
        self._set_defaults()

    def _set_defaults(self) -> None:
        """The table's defaults, for those of its settings that are parameters here and not facts of a model."""
        self._setDefault(**{
            setting.name: setting.default for setting in self._table
            if setting.default is not None and isinstance(getattr(type(self), setting.name, None), Param)
        })

    def _value(self, name: str) -> Any:
        """The value of a parameter, None when it has neither value nor default; of a model's fact, the fact."""
        param = getattr(self, name)
        if not isinstance(param, Param):
            return param
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _check_names(self, names: Mapping[str, Any]) -> None:
        for name in names:
            if not self.hasParam(name):
                raise self._table.unknown(name)

    def _set_given(self, values: Mapping[str, Any]) -> Self:
        """Set parameters by name; None leaves one unset."""
        self._check_names(values)
        for name, value in values.items():
            if value is None:
                self.clear(self.getParam(name))
            else:
                self._set(**{name: value})
        return self

    def explainParam(self, param: "str | Param[Any]") -> str:
        """One line about a parameter: what it does, its default and its value, a long value abbreviated."""
        param = self._resolveParam(param)
        parts = [
            f"{word}: {_short(values[param])}"
            for word, values in (("default", self._defaultParamMap), ("current", self._paramMap)) if param in values
        ]
        return f"{param.name}: {param.doc} ({', '.join(parts) or 'undefined'})"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
