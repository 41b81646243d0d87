"""The three feature models and the constants that distinguish them."""

from dataclasses import dataclass

from spectral_spark.errors import SettingsError


@dataclass(frozen=True)
class Kind:
    """A feature model.

    Attributes
    ----------
    name : "binary", "isfa" or "iica".
    variance : c = E y² (1 for binary features, where there is no y).
    kurtosis : E y⁴ / c², None for binary features.
    """

    name: str
    variance: float
    kurtosis: float | None

    @property
    def is_binary(self) -> bool:
        return self.kurtosis is None


KINDS = {
    "binary": Kind("binary", 1.0, None),
    "isfa": Kind("isfa", 1.0, 3.0),
    "iica": Kind("iica", 2.0, 6.0),
}


def kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise SettingsError(f"kind '{name}' is unknown; choose one of {', '.join(KINDS)}")
    return KINDS[name]
