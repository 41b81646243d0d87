"""The three feature models and the constants that distinguish them."""

from dataclasses import dataclass, replace

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


GAUSSIAN = 3.0
"""The kurtosis of a Gaussian: sources that are always on are then known only as a subspace."""

KINDS = {
    "binary": Kind("binary", 1.0, None),
    "isfa": Kind("isfa", 1.0, GAUSSIAN),
    "iica": Kind("iica", 2.0, 6.0),
}


def kind_named(name: str, kurtosis: float | None = None) -> Kind:
    """The model of that name, with another kurtosis of its sources if one is given."""
    if name not in KINDS:
        raise SettingsError(f"kind '{name}' is unknown; choose one of {', '.join(KINDS)}")
    if kurtosis is None:
        return KINDS[name]
    if KINDS[name].is_binary:
        raise SettingsError("`kurtosis` describes the sources of isfa and iica; binary features have none")
    return replace(KINDS[name], kurtosis=float(kurtosis))
