"""The moment store: adding, removing, growing trees, files, and what is refused."""

import json
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import new_directory, open_directory
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.leaf_moments import node_state_bytes
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.tree.weights import WEIGHTINGS, document_weights

D, P = 30, 5


@pytest.fixture(scope="module")
def corpus() -> SimulatedCorpus:
    return simulate_hdp((D, 3), {"a": {"": 30, "x": 40}, "b": 50, "": 10}, [4.0, 4.0, 1.0], (5, 40), seed=2)


def basis(seed: int = 0, words: str = "words") -> Basis:
    rng = np.random.default_rng(seed)
    return Basis(rng.random(D) + 0.5, np.linalg.qr(rng.standard_normal((D, P)))[0], words)


def collect(
    brute: SimpleNamespace, batch: CountBatch, tree: DocumentTree, weighting: str = "tokens", *,
    source: str = "", in_basis: Basis | None = None, **settings: object,
) -> MomentState:
    """One fit's passes over the batch: the tree has only the nodes that own documents, and their ancestors."""
    own = DocumentTree.from_paths(tree.paths[node] for node in np.unique(batch.nodes))
    nodes = own.assign(tree.paths[node] for node in batch.nodes)
    batch = CountBatch(batch.indptr, batch.terms, batch.counts, nodes, batch.keys, batch.vocab_size)
    census = Census.count(own, nodes, batch.lengths)
    plan = MomentPlan.make(in_basis or basis(), census, weighting, **settings)  # type: ignore[arg-type]
    half = batch.keys % 2 == 0
    parts = (selected_documents(batch, part) for part in (half, ~half))
    sums = [brute.run(plan.kernel, plan.shared, brute.slices(part, 16)) for part in parts]
    return plan.finish(*sums, sources=[source or fingerprint(batch.counts, batch.terms)])


def parts(corpus: SimulatedCorpus, assignment: np.ndarray) -> list[CountBatch]:
    return [selected_documents(corpus.batch, assignment == number) for number in np.unique(assignment)]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_root_and_halves_equal_brute_force(brute: SimpleNamespace, corpus: SimulatedCorpus, weighting: str) -> None:
    state = collect(brute, corpus.batch, corpus.tree, weighting)
    counts, lengths = corpus.batch.matrix.toarray(), corpus.batch.lengths
    eta = document_weights(state.weights.factor, state.weights.by_length, corpus.batch.nodes, lengths)
    assert np.isclose(eta.sum(), 1.0)
    even = corpus.batch.keys % 2 == 0
    for moments, part in zip((state.root(), *state.halves()), (lengths > 0, even, ~even), strict=True):
        expected = brute.moments(counts[part], eta[part] / eta[part].sum(), state.basis.projection)
        for found, true in zip((moments.first, moments.second, moments.third), expected, strict=True):
            assert np.abs(found - true).max() < 1e-12 * np.abs(true).max()
    mean = (eta / lengths) @ counts
    assert np.abs(state.mean_words() - mean).max() < 1e-14
    assert np.isclose(state.effective_sample_size, 1.0 / (eta @ eta))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(["ess", "tokens", "uniform"]))
def test_days_add_up_to_one_fit(
    brute: SimpleNamespace, corpus: SimulatedCorpus, seed: int, number: int, weighting: str
) -> None:
    assignment = np.random.default_rng(seed).integers(0, number, 130)
    per_node = weighting == "uniform"
    whole = collect(brute, corpus.batch, corpus.tree, weighting, node_states=per_node)
    days = [
        collect(brute, part, corpus.tree, weighting, node_states=per_node)
        for part in parts(corpus, assignment)
    ]
    total = days[0]
    for day in days[1:]:
        total = total + day
    backwards = days[-1]
    for day in days[-2::-1]:
        backwards = backwards + day
    assert total.census == whole.census
    assert total.difference(whole) < 1e-12
    assert backwards.difference(total) < 1e-12
    for found, true in zip(vars(total.root()).values(), vars(whole.root()).values(), strict=True):
        assert np.abs(found - true).max() < 1e-12 * np.abs(true).max()
    assert np.abs(total.node_means() - whole.node_means()).max() < 1e-12


def test_addition_is_commutative_bit_for_bit(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    one, other = (collect(brute, part, corpus.tree) for part in parts(corpus, np.arange(130) % 2))
    assert one + other == other + one
    assert one != other
    assert one == collect(brute, parts(corpus, np.arange(130) % 2)[0], corpus.tree)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_removed_documents_leave_no_trace(brute: SimpleNamespace, corpus: SimulatedCorpus, weighting: str) -> None:
    gone = (corpus.batch.nodes == 3) | (np.arange(130) % 5 == 0)  # a whole node, and some of the others
    settings = {"weighting": weighting, "node_states": weighting == "uniform"}
    whole = collect(brute, corpus.batch, corpus.tree, **settings)
    removed = collect(brute, selected_documents(corpus.batch, gone), corpus.tree, **settings)
    rest = collect(brute, selected_documents(corpus.batch, ~gone), corpus.tree, **settings)
    left = whole - removed
    assert left.documents == rest.documents
    for found, true in zip(vars(left.root()).values(), vars(rest.root()).values(), strict=True):
        assert np.abs(found - true).max() < 1e-12 * np.abs(true).max()
    assert np.isclose(left.effective_sample_size, rest.effective_sample_size)
    assert np.isfinite(left.node_means()).all()
    with pytest.raises(InputError, match="only documents that were counted can be removed"):
        left - whole


def test_sources_are_remembered(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    monday, tuesday = (
        collect(brute, part, corpus.tree, source=day)
        for part, day in zip(parts(corpus, np.arange(130) % 2), ("monday", "tuesday"), strict=True)
    )
    both = monday + tuesday
    assert both.sources == ("monday", "tuesday")
    with pytest.raises(InputError, match="monday is in both"):
        both + monday
    without = both - monday
    assert without.sources == ("removed:monday", "tuesday")
    with pytest.raises(InputError, match="monday was removed from this state before"):
        without - monday
    again = without + monday
    assert again.sources == ("monday", "tuesday")
    assert (again - monday).documents == without.documents
    assert (monday + without).sources == again.sources
    request = collect(brute, parts(corpus, np.arange(130) % 10)[0], corpus.tree, source="request")
    less = both - request
    assert less.sources == ("monday", "removed:request", "tuesday")
    assert (less + request).sources == ("monday", "request", "tuesday")
    assert ((less + request) - request).sources == less.sources


def test_node_means_follow_the_weighting(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    tree, lengths = corpus.tree, corpus.batch.lengths
    frequencies = (corpus.batch.matrix.toarray() / lengths[:, None]) @ basis().projection
    own = {node: frequencies[corpus.batch.nodes == node] for node in range(4)}
    assert tree.paths == ((), ("a",), ("a", "x"), ("b",))
    uniform = collect(brute, corpus.batch, tree, "uniform").node_means()
    a = np.vstack([own[1], own[2].mean(axis=0)]).mean(axis=0)
    root = np.vstack([own[0], a, own[3].mean(axis=0)]).mean(axis=0)
    assert np.allclose(uniform, [root, a, own[2].mean(axis=0), own[3].mean(axis=0)], rtol=1e-12, atol=1e-14)
    ess = collect(brute, corpus.batch, tree, "ess").node_means()
    assert np.allclose(ess[1], np.vstack([own[1], own[2]]).mean(axis=0), rtol=1e-12, atol=1e-14)
    tokens = collect(brute, corpus.batch, tree, "tokens")
    below_a = np.isin(corpus.batch.nodes, [1, 2])
    mean = lengths[below_a] @ frequencies[below_a] / lengths[below_a].sum()
    assert np.allclose(tokens.node_means()[1], mean, rtol=1e-12, atol=1e-14)
    assert np.allclose(tokens.node_means()[0], tokens.root().first, rtol=1e-12, atol=1e-14)


def test_different_bases_vocabularies_and_settings_are_refused(
    brute: SimpleNamespace, corpus: SimulatedCorpus
) -> None:
    one, other = parts(corpus, np.arange(130) % 2)
    state = collect(brute, one, corpus.tree)
    with pytest.raises(InputError, match=r"different bases \(5 columns"):
        state + collect(brute, other, corpus.tree, in_basis=basis(1))
    with pytest.raises(InputError, match="different vocabularies"):
        state + collect(brute, other, corpus.tree, in_basis=basis(0, "other words"))
    with pytest.raises(InputError, match="weighting is 'tokens' in one state and 'ess'"):
        state + collect(brute, other, corpus.tree, "ess")
    capped = selected_documents(other, other.lengths > 20)
    with pytest.raises(InputError, match="cap is None in one state and 4"):
        state + collect(brute, capped, corpus.tree, cap=4)
    with pytest.raises(InputError, match="MiB for this tree"):
        collect(brute, one, corpus.tree, "uniform") + collect(brute, other, corpus.tree, "uniform")


def test_one_document_is_no_sample_to_choose_k_from(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    state = collect(brute, selected_documents(corpus.batch, np.arange(130) == 7), corpus.tree)
    assert np.isfinite(state.root().third).all()
    with pytest.raises(InputError, match="both need documents"):
        solve_state(state, "auto")


def test_noise_weights_sum_to_those_of_the_documents(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    for weighting in WEIGHTINGS:
        state = collect(brute, corpus.batch, corpus.tree, weighting)
        weights, documents = state.noise_weights()
        lengths = corpus.batch.lengths
        eta = document_weights(state.weights.factor, state.weights.by_length, corpus.batch.nodes, lengths)
        true = eta / (lengths - 1)
        assert documents.sum() == 130
        assert np.isclose(weights @ documents, true.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [{}, {"weighting": "uniform", "node_states": True}, {"groups": "plug-in"}, {"groups": "distinct", "cap": 3}],
)
def test_a_state_comes_back_bit_for_bit(
    brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path, settings: dict[str, object]
) -> None:
    batch = corpus.batch if "cap" not in settings else _short_words_capped(corpus.batch)
    state = collect(brute, batch, corpus.tree, **settings)  # type: ignore[arg-type]
    state.save(tmp_path / "state")
    assert MomentState.load(tmp_path / "state") == state
    with new_directory(tmp_path / "model", "a model", 3) as staging:
        staging.write_json("summary.json", {})
        state.write_into(staging, "moments/")
    assert MomentState.read_from(open_directory(tmp_path / "model", "a model", 3), "moments/") == state


def _short_words_capped(batch: CountBatch) -> CountBatch:
    """Counts at most 3, so that the census of the test and a cap of 3 agree."""
    return CountBatch(batch.indptr, batch.terms, np.minimum(batch.counts, 3), batch.nodes, batch.keys, batch.vocab_size)


def test_damaged_foreign_and_newer_states_are_refused(
    brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path
) -> None:
    state = collect(brute, corpus.batch, corpus.tree)
    state.save(tmp_path / "state")
    with pytest.raises(InputError, match="exists"):
        state.save(tmp_path / "state")
    state.save(tmp_path / "state", overwrite=True)
    third = tmp_path / "state" / "half_b" / "third.npy"
    third.write_bytes(third.read_bytes()[:-8])
    with pytest.raises(FormatError, match="differs from its manifest"):
        MomentState.load(tmp_path / "state")
    third.unlink()
    with pytest.raises(FormatError, match="missing"):
        MomentState.load(tmp_path / "state")
    basis().save(tmp_path / "basis")
    with pytest.raises(FormatError, match="is a basis, not a moment state"):
        MomentState.load(tmp_path / "basis")
    with pytest.raises(InputError, match="there is no"):
        MomentState.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about | {"version": 99}, "format 99"),
        (lambda about: about | {"basis": "0" * 64}, "not the one they were collected in"),
        (lambda about: {key: value for key, value in about.items() if key != "slots"}, "damaged"),
        (lambda about: about | {"slots": ["all", "outside"]}, "damaged"),
        (lambda about: ["not", "an", "object"], "a list where an object belongs"),
    ],
)
def test_inconsistent_parts_are_refused(
    brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path, change: "object", message: str
) -> None:
    state = collect(brute, corpus.batch, corpus.tree)
    with new_directory(tmp_path / "state", "spectral-moments", 1) as staging:
        state.write_into(staging, "")
        about = json.loads(Path(staging.path, "state.json").read_text())
        staging.write_json("state.json", change(about))  # type: ignore[operator]
    with pytest.raises(FormatError, match=message):
        MomentState.load(tmp_path / "state")


def test_many_updates_keep_their_size(brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path) -> None:
    batches = parts(corpus, np.arange(130) % 65)
    days = [collect(brute, batch, corpus.tree, source=f"day {number}") for number, batch in enumerate(batches)]
    total = days[0]
    for day in days[1:]:
        total = total + day
    days[0].save(tmp_path / "first")
    total.save(tmp_path / "last")
    first, last = (
        sum(file.stat().st_size for file in (tmp_path / name).rglob("*.npy")) for name in ("first", "last")
    )
    assert total.documents == 130
    assert last <= first + 8 * P * len(corpus.tree)


def test_the_cost_of_states_per_node_is_known(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    state = collect(brute, corpus.batch, corpus.tree, "uniform", node_states=True)
    held = sum(array.nbytes for half in state.half_samples for array in half.arrays().values())
    assert held == node_state_bytes(D, P, 4)
    assert state.slots == corpus.tree.paths


def test_topics_are_found_again_from_the_state(brute: SimpleNamespace) -> None:
    truth = simulate_hdp((60, 3), [1500, 1500], [8.0, 0.5], 60, seed=4)
    directions = np.linalg.qr(np.column_stack([truth.topics, np.random.default_rng(0).standard_normal((60, 4))]))[0]
    state = collect(brute, truth.batch, truth.tree, in_basis=Basis(np.ones(60), directions), groups="plug-in")
    for options in ({"k": 3}, {"k": 3, "per_group": True}, {"k": 3, "solver": "als"}):
        solution = solve_state(state, concentrations=[8.0, 0.5], **options)  # type: ignore[arg-type]
        apart = 0.5 * np.abs(solution.topics[:, :, None] - truth.topics[:, None, :]).sum(axis=0)
        assert apart.min(axis=0).max() < 0.1
        assert sorted(apart.argmin(axis=0)) == [0, 1, 2]
