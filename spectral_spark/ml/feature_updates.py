"""Updates of a feature model: rows added, rows removed, two models merged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from typing_extensions import Self

from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_features import FittedFeatures
from spectral_spark.fit.update_features import growing_state, merge_rows, update_rows
from spectral_spark.ibp.feature_state import FeatureBasis, FeatureState
from spectral_spark.ml.ibp_params import RowParams


class FeatureUpdates(RowParams):
    """A feature model that changes with its rows. A change returns a new model."""

    _progress = Progress()
    _fitted: FittedFeatures

    @property
    def moments(self) -> FeatureState | None:
        """The additive sums behind the features; None for a model of version 0.1.0."""
        return self._fitted.state

    @property
    def basis(self) -> FeatureBasis:
        """The coordinates of the moments: for ``SpectralIBP.setBasis``, if another model is to be merged with this."""
        return growing_state(self._fitted).basis

    @property
    def changes(self) -> dict[str, Any] | None:
        """How features moved in the update that made this model; None for a fit."""
        return self._fitted.changes

    def setInput(self, columns: Sequence[str] = (), dropped: Sequence[int] = ()) -> Self:
        """Record in the run report which columns of a table make up the vectors, or which entries were left out."""
        found = {"columns": list(columns), "dropped": list(dropped)}
        self._fitted = replace(self._fitted, summary=replace(self._fitted.summary, input=found))
        return self

    def setProgress(self, progress: Progress) -> Self:
        """Where updates show progress."""
        self._progress = progress
        return self

    def update(
        self, dataset: DataFrame, *, remove: bool = False, skipKnown: bool = False, checkpointDir: str | None = None
    ) -> Self:
        """A model of the old rows and these or, with ``remove``, of the old rows without these.

        Reads only ``dataset``, once. Sums are added exactly; with as many directions as columns (``basisSize``) the
        result is that of a fit of all rows up to rounding. Features keep their numbers.

        Parameters
        ----------
        dataset : rows with the columns that the model was fitted to.
        remove : take these rows out instead of adding them.
        skipKnown : skip rows that the model already has, or does not have; otherwise they are refused.
        checkpointDir : keeps the finished pass until the update is done, so that it can be resumed.
        """
        return self._with_fitted(update_rows(
            self._fitted, dataset, self._value("featuresCol"), id_column=self._value("idCol"), remove=remove,
            skip_known=skipKnown, progress=self._progress, checkpoint_dir=checkpointDir,
        ))

    def merge(self, other: Self) -> Self:
        """A model of the rows of both. They need the same basis (``setBasis``) or one of all columns. Reads no rows."""
        if not isinstance(other, FeatureUpdates):
            raise InputError(f"merge takes another SpectralIBPModel, not a {type(other).__name__}")
        return self._with_fitted(merge_rows(self._fitted, other._fitted))

    def _with_fitted(self, fitted: FittedFeatures) -> Self:
        model: Self = self._copyValues(type(self)(fitted))  # type: ignore[call-arg]
        return model
