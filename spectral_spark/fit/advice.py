"""What a fit remarks about its settings: things that are allowed, and probably not meant."""

from pyspark.sql import SparkSession

from spectral_spark.engine.memory import MemoryNeed, executor_shortage
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.solve.rank import RankChoice
from spectral_spark.tree.census import Census
from spectral_spark.tree.group_balance import groups_with_documents


def warn_of_noise(rank: RankChoice, run: FitRun) -> None:
    """Warn when more topics were asked for than stand out from the noise."""
    above = rank.above_noise
    if rank.rule != "given" or above is None or rank.k <= above:
        return
    run.warn(
        f"{rank.k} topics were asked for, but only {above} of the {len(rank.spectrum)} eigenvalues exceed the noise "
        f"floor {rank.noise_floor:.3g}, which is a cautious estimate: some of the topics may rest on chance; compare "
        "the held-out loss with that of `k=auto`"
    )


def warn_of_layers(census: Census, settings: FitSettings, run: FitRun) -> None:
    """Warn when the tree is cut to more layers than it has."""
    there = census.tree.depth + 2
    if settings.tree_layers is not None and settings.tree_layers > there:
        run.warn(f"`layers` is {settings.tree_layers}, but the tree has {there} layers, from the root to the "
                 "documents: all of them are used")


def warn_of_balance(census: Census, settings: FitSettings, run: FitRun) -> None:
    """Warn when a group balance changes nothing."""
    if not settings.group_balance:
        return
    given = f"`groupBalance={settings.group_balance:g}`"
    if not settings.refines:
        run.warn(f"{given} changes nothing: it weights documents in sampling and refinement, and `refinePasses=0` "
                 "leaves both out")
    elif groups_with_documents(census) < 2:
        run.warn(f"{given} changes nothing: all documents are in one top-level group, so that there is nothing to "
                 "balance; name the groups in the documents' paths")


def warn_of_containers(need: MemoryNeed, spark: SparkSession, run: FitRun) -> None:
    """Warn when the executors' containers may be too small for their Python workers; Spark Connect cannot tell."""
    context = getattr(spark, "_sc", None)
    shortage = executor_shortage(need, dict(context.getConf().getAll())) if context is not None else None
    if shortage is not None:
        run.warn(shortage)
