"""SpectralHDP on real local Spark: right topics, the NumPy core's numbers, the same bits for any partitioning."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.feature import CountVectorizer
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit import solve_step
from spectral_spark.ingest.simulate import SimulatedCorpus
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.projection import capped, drop_short
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    word_scale,
)
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.tree.census import Census
from spectral_spark.tree.weights import node_weights

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}


@pytest.fixture(scope="module")
def spectral(documents: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(k=5, refinePasses=0, rangePasses=2, concentrations=[0.5], **ARRAYS).fit(documents)


@pytest.fixture(scope="module")
def refined(documents: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(k=5, refinePasses=1, **ARRAYS).fit(documents)


def test_spark_gives_the_topics_of_the_numpy_core_on_one_process(
    spectral: SpectralHDPModel, simulated: SimulatedCorpus
) -> None:
    batch, _ = drop_short(capped(simulated.batch, 16))
    census = Census.count(simulated.tree, batch.nodes, batch.lengths)
    weights, d, p = node_weights(census, "tokens"), batch.vocab_size, 15
    probe = first_probe(d, p, 0)
    for number in range(2):
        accumulator = RangeKernel(d, 16, True).start({"probe": probe, "factor": weights.factor})
        accumulator.add(simulated.batch)
        sums = accumulator.arrays()
        image = apply_second_moment(sums, probe)
        if number == 0:
            mean = mean_words(sums)
            scale = word_scale(mean, 0.25)
            probe = next_probe(image, scale)
    basis = finish_basis(image, scale, mean)
    plan = MomentPlan.make(basis, census, "tokens", cap=16)
    accumulator = plan.kernel.start(plan.shared)
    accumulator.add(simulated.batch)
    sums = accumulator.arrays()
    state = plan.finish(sums, {name: np.zeros_like(array) for name, array in sums.items()})
    alone = solve_state(state, 5, "polar", 0.5)
    expected = smoothed_topics(alone.topics, state.mean_words())
    match = recovery(spectral.topicsMatrix(), expected).match
    assert np.abs(spectral.topicsMatrix()[:, match] - expected).max() < 1e-10


def test_topics_weights_and_tree_are_recovered(refined: SpectralHDPModel, simulated: SimulatedCorpus) -> None:
    found = recovery(refined.topicsMatrix(), simulated.topics)
    assert found.error < 0.08
    np.testing.assert_allclose(refined.topicsMatrix().sum(axis=0), 1, rtol=1e-12)
    assert refined.topicsMatrix().min() > 0
    realised = simulated.document_proportions.mean(axis=0)
    np.testing.assert_allclose(refined.weights[found.match], realised, atol=0.03)
    rows = {tuple(row["path"]): row for row in refined.nodeProportions().collect()}
    assert set(rows) == set(simulated.tree.paths)
    assert rows[("b",)]["documents"] == 1500
    for node in ("a",), ("b", "x"), ("b", "y"):
        mine = simulated.batch.nodes == simulated.tree.index(node)
        truth = simulated.document_proportions[mine].mean(axis=0)
        np.testing.assert_allclose(np.array(rows[node]["proportions"])[found.match], truth, atol=0.1)


@pytest.mark.parametrize("partitions", [1, 64])
@pytest.mark.usefixtures("on_executors")
def test_same_bits_on_executors_for_any_partitioning_and_order(
    documents: DataFrame, refined: SpectralHDPModel, partitions: int
) -> None:
    shuffled = documents.repartition(partitions).orderBy(F.rand(partitions))
    again = SpectralHDP(k=5, refinePasses=1, **ARRAYS).fit(shuffled)
    assert again.topicsMatrix().tobytes() == refined.topicsMatrix().tobytes()
    assert again.nodes.proportions.tobytes() == refined.nodes.proportions.tobytes()
    assert again.moments == refined.moments


def test_automatic_k_is_near_the_truth_and_says_why(documents: DataFrame) -> None:
    model = SpectralHDP(refinePasses=0, basisSize=30, **ARRAYS).fit(documents)
    assert 4 <= model.k <= 6
    assert "noise floor" in str(model.summary.rank_reason)
    assert len(model.summary.spectrum) >= 30


def test_summary_reports_what_happened(documents: DataFrame, refined: SpectralHDPModel) -> None:
    report = json.loads(refined.summary.toJson())
    assert report["documents"] + sum(report["dropped"].values()) == 3000
    names = [p["name"] for p in report["passes"]]
    assert names[:3] == ["census", "range 1", "range 2"]
    assert names[names.index("moments") - 1].startswith("range")
    assert report["effective_sample_size"] <= 3000
    assert set(report["seconds"]) >= {"range", "moments", "solve", "refine", "total"}
    with pytest.raises(AttributeError):
        refined.summary.k = 3  # type: ignore[misc]


def test_refinement_lowers_the_loss(
    documents: DataFrame, spectral: SpectralHDPModel, refined: SpectralHDPModel, simulated: SimulatedCorpus
) -> None:
    assert refined.logPerplexity(documents) < spectral.logPerplexity(documents)


def test_transform_adds_proportions(
    refined: SpectralHDPModel, documents: DataFrame, simulated: SimulatedCorpus
) -> None:
    rows = refined.transform(documents).select("doc_id", "topicDistribution").collect()
    found = np.array([row["topicDistribution"].toArray() for row in rows])
    order = [int(row["doc_id"][1:]) for row in rows]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)
    match = recovery(refined.topicsMatrix(), simulated.topics).match
    assert np.abs(found[:, match] - simulated.document_proportions[order]).sum(axis=1).mean() / 2 < 0.15


def test_transform_of_documents_without_words_or_with_bad_counts(
    spark: SparkSession, refined: SpectralHDPModel
) -> None:
    nan = float("nan")
    rows = [
        ("empty", ["b", "x"], [], []), ("unknown group", ["b", "new"], [], []), ("unknown tree", ["q"], [], []),
        ("null path", None, [], []), ("nan", ["a"], [1], [nan]), ("negative", ["a"], [1], [-1.0]),
        ("unknown words", ["a"], [999], [4.0]), ("null", ["a"], None, None), ("lengths differ", ["a"], [1, 2], [1.0]),
    ]
    frame = spark.createDataFrame(rows, "doc_id string, path array<string>, terms array<int>, counts array<double>")
    out = {row["doc_id"]: row["topicDistribution"] for row in refined.transform(frame).collect()}
    prior = {tuple(row["path"]): row["proportions"] for row in refined.nodeProportions().collect()}
    for name, node in (("empty", ("b", "x")), ("unknown group", ("b",)), ("unknown tree", ()), ("null path", ()),
                       ("unknown words", ("a",))):
        np.testing.assert_allclose(out[name].toArray(), prior[node], rtol=1e-9)
    for name in ("nan", "negative", "null", "lengths differ"):
        assert out[name] is None


def test_save_and_load_give_the_same_model(tmp_path: Path, refined: SpectralHDPModel, documents: DataFrame) -> None:
    refined.save(str(tmp_path / "model"))
    loaded = SpectralHDPModel.load(str(tmp_path / "model"))
    assert loaded.topicsMatrix().tobytes() == refined.topicsMatrix().tobytes()
    assert loaded.topicsMatrix().flags.c_contiguous         # the same order in memory: the same rounding in products
    assert loaded.moments == refined.moments
    assert loaded.summary == refined.summary
    assert loaded.getOrDefault("termsCol") == "terms"
    few = documents.limit(20)
    assert loaded.transform(few).collect() == refined.transform(few).collect()
    with pytest.raises(InputError, match="exists"):
        refined.save(str(tmp_path / "model"))
    refined.write().overwrite().save(str(tmp_path / "model"))


def test_damaged_newer_and_foreign_models_are_refused(tmp_path: Path, spectral: SpectralHDPModel) -> None:
    target = tmp_path / "model"
    damages = {
        "newer": "upgrade", "changed": "differs from its manifest", "class": "holds a os.system, not a",
        "parameter": "parameter 'shell' is unknown", "missing": "missing", "half": "not a complete",
    }
    line = "metadata/part-00000"
    for damage, message in damages.items():
        spectral.write().overwrite().save(str(target))
        manifest = json.loads((target / "manifest.json").read_text())
        if damage == "newer":
            (target / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))
        elif damage == "changed":
            (target / line).write_text('{"class": "os.system"}')
        elif damage in ("class", "parameter"):
            metadata = json.loads((target / line).read_text())
            metadata |= {"class": "os.system"} if damage == "class" else {"paramMap": {"shell": "rm"}}
            text = json.dumps(metadata).encode()
            (target / line).write_bytes(text)
            manifest["files"][line] |= {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
            (target / "manifest.json").write_text(json.dumps(manifest))
        elif damage == "missing":
            (target / "topics" / "part-0.parquet").unlink()
        else:
            (target / "manifest.json").unlink()
        with pytest.raises(FormatError, match=message):
            SpectralHDPModel.load(str(target))
    with pytest.raises(InputError, match="no topic model"):
        SpectralHDPModel.load(str(tmp_path / "nowhere"))


def test_solve_again_needs_no_data(spectral: SpectralHDPModel, simulated: SimulatedCorpus) -> None:
    for solver in ("polar", "power", "als", "sketch"):
        model = spectral.solveAgain(k=4, solver=solver)
        assert model.k == 4
        assert model.summary.passes == []
    same = spectral.solveAgain()
    assert same.topicsMatrix().tobytes() == spectral.topicsMatrix().tobytes()
    with pytest.raises((InputError, SettingsError), match="k"):
        spectral.solveAgain(k=200)
    for given in ({"weighting": "uniform"}, {"preset": "paper"}, {"refinePasses": 2}, {"countCap": 0}):
        with pytest.raises(SettingsError, match=r"is not for solving the moments .* for other settings use `refit`"):
            spectral.solveAgain(**given)
    with pytest.raises(SettingsError, match="there is no parameter 'topics'; did you mean 'k'"):
        spectral.solveAgain(topics=3)
    with pytest.raises(SettingsError, match="`solver=polar` is not in the paper"):
        spectral.solveAgain(solver="polar", spectralStep="printed")


class Perplexity(Evaluator, DefaultParamsReadable, DefaultParamsWritable):
    """Scores a fitted pipeline by how sure its distributions are: enough for a CrossValidator to run."""

    def _evaluate(self, dataset: DataFrame) -> float:
        values = [row[0].toArray().max() for row in dataset.select("topicDistribution").collect()]
        return float(np.mean(values))


def test_in_a_pipeline_with_count_vectorizer(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kinds = [["sail", "boat", "wind", "sea", "rope"], ["bread", "oven", "flour", "salt", "dough"]]
    rows = [(rng.choice(kinds[i % 2], 12).tolist(),) for i in range(200)]
    frame = spark.createDataFrame(rows, ["words"])
    pipeline = Pipeline(stages=[
        CountVectorizer(inputCol="words", outputCol="features", vocabSize=50),
        SpectralHDP(k=2, refinePasses=0, concentrations=0.3),
    ])
    model = pipeline.fit(frame)
    out = model.transform(frame)
    best = np.array([row["topicDistribution"].toArray().argmax() for row in out.collect()])
    assert len(set(best[::2])) == len(set(best[1::2])) == 1
    assert best[0] != best[1]
    out.drop("topicDistribution").write.parquet(str(tmp_path / "counted"))
    from_disk = model.stages[1].transform(spark.read.parquet(str(tmp_path / "counted")))
    expected = {tuple(row["words"]): row["topicDistribution"] for row in out.collect()}
    assert {tuple(row["words"]): row["topicDistribution"] for row in from_disk.collect()} == expected
    model.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert isinstance(loaded.stages[1], SpectralHDPModel)
    pipeline.write().overwrite().save(str(tmp_path / "unfitted"))
    stage = Pipeline.load(str(tmp_path / "unfitted")).getStages()[1]
    assert (stage.getOrDefault("k"), stage.getOrDefault("concentrations")) == (2, [0.3])


def test_in_a_cross_validator_and_after_copy(vectors: DataFrame, tmp_path: Path) -> None:
    hdp = SpectralHDP(k=3, refinePasses=0, concentrations=[0.5], basisSize=20)
    grid = ParamGridBuilder().addGrid(hdp.k, [2, 3]).build()
    search = CrossValidator(estimator=hdp, estimatorParamMaps=grid, evaluator=Perplexity(), numFolds=2, seed=1)
    best = search.fit(vectors)
    assert best.bestModel.k in (2, 3)
    best.save(str(tmp_path / "best"))
    loaded = CrossValidatorModel.load(str(tmp_path / "best")).bestModel
    assert loaded.topicsMatrix().tobytes() == best.bestModel.topicsMatrix().tobytes()
    copied = hdp.copy({hdp.k: 4})
    assert (copied.getOrDefault("k"), hdp.getOrDefault("k")) == (4, 3)
    assert copied.fit(vectors).k == 4


@pytest.mark.parametrize(("values", "message"), [
    ({"k": 0}, "k is 0"), ({"k": 2.5}, "k is 2.5"), ({"k": "many"}, "give a whole number"),
    ({"solver": "magic"}, "choose one of auto, polar"), ({"weighting": "equal"}, "weighting is 'equal'"),
    ({"concentrations": [1.0, -2.0]}, "has -2.0"), ({"concentrations": "best"}, "concentrations is 'best'"),
    ({"layers": 1}, "layers is 1"), ({"countCap": -1}, "countCap is -1"), ({"topics": 3}, "no parameter 'topics'"),
])
def test_wrong_parameters_say_what_to_give(values: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SpectralHDP().setParams(**values)


@pytest.mark.parametrize(("values", "message"), [
    ({"k": 9, "basisSize": 5}, "raise `basisSize`"), ({"termsCol": "terms"}, "go together"),
    ({"textCol": "text", "termsCol": "terms", "countsCol": "counts"}, "leave out the one or the others"),
    ({"concentrations": [1.0, 2.0], "layers": 4}, "one per layer"), ({"k": 5, "vocabulary": ["a", "b"]}, "2 words"),
])
def test_parameters_that_do_not_go_together(documents: DataFrame, values: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SpectralHDP(**values).fit(documents)


def test_bad_input_is_refused_before_any_pass(spark: SparkSession, documents: DataFrame) -> None:
    with pytest.raises(InputError, match="no column 'features'"):
        SpectralHDP(k=2).fit(documents)
    with pytest.raises(InputError, match="no column 'groups'"):
        SpectralHDP(**{**ARRAYS, "pathCol": "groups"}).fit(documents)
    with pytest.raises(SettingsError, match="topics cannot outnumber words"):
        SpectralHDP(**{**ARRAYS, "k": 301}).fit(documents)
    short = spark.createDataFrame([(Vectors.dense([1.0, 1.0]),)], ["features"])
    with pytest.raises(InputError, match="1 too short"):
        SpectralHDP(k=1).fit(short)


def test_checkpoints_resume_to_the_same_bits(
    tmp_path: Path, documents: DataFrame, refined: SpectralHDPModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spectral_spark.fit import fit_topics

    estimator = SpectralHDP(k=5, refinePasses=1, checkpointDir=str(tmp_path / "steps"), **ARRAYS)
    with monkeypatch.context() as patch:
        def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(fit_topics, "sample_topics", killed)
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(documents)
    kept = sorted(path.name for path in next((tmp_path / "steps").iterdir()).iterdir())
    assert kept[:3] == ["moments", "range-1", "range-2"]
    resumed = estimator.fit(documents)
    assert resumed.topicsMatrix().tobytes() == refined.topicsMatrix().tobytes()
    assert [p["name"] for p in resumed.summary.passes] == [
        "census", "sampling", "refine 1", "settle 1", "sample check"
    ]
    assert not any((tmp_path / "steps").iterdir())


@pytest.mark.parametrize("weighting", ["ess", "uniform"])
def test_other_weightings_recover_the_topics(
    documents: DataFrame, simulated: SimulatedCorpus, weighting: str
) -> None:
    model = SpectralHDP(k=5, refinePasses=0, weighting=weighting, concentrations=[0.5], **ARRAYS).fit(documents)
    assert recovery(model.topicsMatrix(), simulated.topics).error < 0.2
    full = model.nodes.effective_sample_size[0]
    assert 2 < full < 3000 if weighting == "ess" else full < 3000     # groups differ: far fewer than documents


@pytest.mark.parametrize("weighting", ["ess", "uniform"])
def test_topics_of_a_subtree_are_those_of_its_documents(documents: DataFrame, weighting: str) -> None:
    fixed = {"k": 3, "refinePasses": 0, "weighting": weighting, "concentrations": [0.5], **ARRAYS}
    model = SpectralHDP(**fixed).fit(documents)
    part = model.subtree("b", k=3)
    inside = documents.filter("path[0] = 'b'").withColumn("path", F.expr("slice(path, 2, 9)"))
    alone = SpectralHDP(**fixed).setBasis(model.basis).fit(inside)
    assert part.nodes.paths == alone.nodes.paths == ((), ("x",), ("y",))
    assert part.summary.documents == alone.summary.documents == 1500
    tolerance = 1e-9 if weighting == "uniform" else 0.05         # components are those of the whole tree
    assert recovery(part.topicsMatrix(), alone.topicsMatrix()).error < tolerance
    assert model.subtree(["b", "x"]).k >= 1
    with pytest.raises(InputError, match="no node 'b/z'"):
        model.subtree("b/z")


def test_a_subtree_has_its_own_rank_and_the_concentrations_of_its_levels(
    documents: DataFrame, simulated: SimulatedCorpus
) -> None:
    """Branches are of different depths: 'a' holds documents, 'b' two groups of them."""
    given = [8.0, 6.0, 0.5]
    model = SpectralHDP(k=5, refinePasses=0, weighting="uniform", concentrations=given, **ARRAYS).fit(documents)
    for path, levels in (("a", [0.5]), ("b", [6.0, 0.5]), ("b/x", [0.5]), ([], given)):
        part = model.subtree(path)
        assert part.summary.concentrations == levels
        assert part.summary.rank_rule == "noise-floor"
        assert part.summary.passes == []                        # nothing is read
        found = recovery(part.topicsMatrix(), simulated.topics)
        assert (found.match >= 0).sum() == part.k == (2 if path == "a" else 5)      # three topics are rare below 'a'
        assert found.errors[found.match >= 0].max() < 0.2
    assert model.subtree("b", concentrations=[3.0]).summary.concentrations == [3.0]
    assert model.subtree("b", k=2, concentrations="calibrated").k == 2
    with pytest.raises(SettingsError, match="has 3 numbers, but the tree has 3 layers; give 2"):
        model.subtree("b", concentrations=given)
    with pytest.raises(InputError, match="no node 'c'"):
        model.subtree("c")
    tokens = SpectralHDP(k=5, refinePasses=0, concentrations=[0.5], **ARRAYS).fit(documents)
    with pytest.raises(InputError, match="topics of a subtree need the sums of every node"):
        tokens.subtree("b")


def test_tensors_per_group(documents: DataFrame, simulated: SimulatedCorpus) -> None:
    model = SpectralHDP(k=5, refinePasses=0, tensors="groups", concentrations=[0.5], **ARRAYS).fit(documents)
    assert recovery(model.topicsMatrix(), simulated.topics).error < 0.2


def test_large_candidates_are_scored_in_turn_with_the_same_choice(
    documents: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = SpectralHDP(k=5, refinePasses=0, **ARRAYS).fit(documents)
    monkeypatch.setattr(solve_step, "LARGE_TOPICS", 0)
    model = SpectralHDP(k=5, refinePasses=0, **ARRAYS).fit(documents)
    names = [step["name"] for step in model.summary.passes]
    scores = model.summary.refinement["concentration_scores"]
    assert names.count("choose concentrations") == len(scores)
    assert model.summary.refinement == together.summary.refinement
    levels = {f"levels {g:g}" for g in solve_step.CANDIDATES}
    groups = {"groups calibrated", "groups agreed", *(f"groups {g:g}" for g in solve_step.GROUP_CANDIDATES)}
    assert {"0.1", "0.3", "1", "3"} <= set(scores) <= {"0.1", "0.3", "1", "3", "calibrated", *levels, *groups}
    assert model.topicsMatrix().tobytes() == together.topicsMatrix().tobytes()


def test_topics_that_are_refined_need_no_choice_of_concentrations(
    documents: DataFrame, refined: SpectralHDPModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "choose concentrations" not in {step["name"] for step in refined.summary.passes}
    assert refined.summary.spectral_concentrations[-1] == solve_step.UNSCORED       # the levels come from pairs
    solve = solve_step._solve

    def picky(moments: Any, settings: Any, concentrations: Any, *more: Any, **options: Any) -> Any:
        if concentrations == [solve_step.UNSCORED]:
            raise InputError("too few positive eigenvalues")
        return solve(moments, settings, concentrations, *more, **options)

    monkeypatch.setattr(solve_step, "_solve", picky)
    other = SpectralHDP(k=5, refinePasses=1, **ARRAYS).fit(documents)
    assert "choose concentrations" in {step["name"] for step in other.summary.passes}
    assert set(other.summary.refinement) == set(refined.summary.refinement)


def test_topics_that_are_refined_are_solved_less_exactly(documents: DataFrame, refined: SpectralHDPModel) -> None:
    exact = SpectralHDP(k=5, refinePasses=0, concentrations=[solve_step.UNSCORED], **ARRAYS).fit(documents)
    assert refined.summary.converged
    assert refined.summary.iterations < exact.summary.iterations
    again = refined.solveAgain(concentrations=[solve_step.UNSCORED])       # without documents nothing is refined
    assert again.summary.iterations == exact.summary.iterations


def test_vectors_without_a_tree(vectors: DataFrame) -> None:
    model = SpectralHDP(k=3, refinePasses=0, concentrations=[0.5], basisSize=20).fit(vectors.drop("path"))
    assert model.nodes.paths == ((),)
    assert model.summary.documents == 400
