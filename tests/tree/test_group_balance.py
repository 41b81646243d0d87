"""Groups alike: weights of documents against computations by hand."""

import numpy as np
import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.tree import Census, DocumentTree, group_weights

PATHS = [("large",), ("large", "one"), ("large", "one", "deep"), ("middle", "two"), ("small",)]


def census(sizes: dict[tuple[str, ...], int], length: dict[str, int] | int = 10) -> Census:
    """So many documents at each path, of so many words, all or by top-level group."""
    tree = DocumentTree.from_paths([*PATHS, *sizes])
    nodes = np.concatenate([np.full(count, tree.index(path)) for path, count in sizes.items()])
    words = [length if isinstance(length, int) else length[path[0]] for path, count in sizes.items()
             for _ in range(count)]
    return Census.count(tree, nodes, np.array(words))


def by_path(counted: Census, balance: float) -> dict[tuple[str, ...], float]:
    return dict(zip(counted.tree.paths, group_weights(counted, balance).tolist(), strict=True))


UNEQUAL = {("large",): 40, ("large", "one"): 50, ("large", "one", "deep"): 70, ("middle", "two"): 40, ("small",): 10}


def test_by_hand_with_all_groups_alike() -> None:
    weights = by_path(census(UNEQUAL), 1.0)
    # 210 documents of 10 words in groups of 160, 40 and 10: 70 documents' worth each
    assert weights["large",] == weights["large", "one"] == weights["large", "one", "deep"] == 28 / 64   # 0.4375
    assert weights["middle",] == weights["middle", "two"] == 112 / 64                                    # 1.75
    assert weights["small",] == 448 / 64                                                                 # 7
    assert weights[()] == 1.0                                                                            # has none


def test_by_hand_half_way() -> None:
    weights = by_path(census(UNEQUAL), 0.5)
    scale = 210 / (np.sqrt(160) + np.sqrt(40) + np.sqrt(10))
    for group, size in (("large", 160), ("middle", 40), ("small", 10)):
        assert weights[group,] == np.rint(64 * scale / np.sqrt(size)) / 64


def test_long_documents_do_not_make_a_group_count_less() -> None:
    counted = census({("a",): 30, ("b",): 10}, {"a": 4, "b": 40})
    weights = by_path(counted, 1.0)
    assert weights["b",] == pytest.approx(3 * weights["a",], abs=3 / 64)
    # 520 words, of which c/30·120 + c/10·400 = 44 c count
    assert weights["a",] == np.rint(64 * 520 / 44 / 30) / 64
    assert group_weights(counted, 1.0) @ counted.tokens == pytest.approx(520, rel=0.01)


def test_documents_at_the_root_are_a_group_of_their_own() -> None:
    weights = by_path(census({(): 20, ("a",): 60, ("b", "x"): 20}), 1.0)
    assert weights[()] == weights["b",] == weights["b", "x"] == pytest.approx(100 / 60, abs=1 / 128)
    assert weights["a",] == pytest.approx(100 / 180, abs=1 / 128)
    alone = Census.count(DocumentTree.from_paths([]), np.zeros(5, int), np.full(5, 7))
    assert group_weights(alone, 1.0).tolist() == [1.0]


def test_without_balance_every_weight_is_one() -> None:
    for counted in (census(UNEQUAL), census({(): 7, ("small",): 100_003}, 13)):
        assert group_weights(counted, 0.0).tolist() == [1.0] * len(counted.tree)


def test_a_handful_of_documents_does_not_rule() -> None:
    few = {("large",): 20_000, **{(f"tiny {i}",): 1 for i in range(200)}}
    weights = by_path(census(few), 1.0)
    assert weights["large",] == np.rint(64 * 20_200 / (20_000 + 16 * 200)) / 64
    assert weights["tiny 7",] == np.rint(64 * 16 * 20_200 / (20_000 + 16 * 200)) / 64


def test_weights_are_whole_numbers_of_64ths_and_never_none() -> None:
    counted = census({("large",): 20_000, ("small",): 1250}, {"large": 3, "small": 3000})
    weights = by_path(counted, 1.0)
    assert weights["small",] == pytest.approx(16 * weights["large",], abs=8 / 64)
    weights = by_path(census({("large",): 16_000, ("small",): 1000}, {"large": 2000, "small": 3}), 1.0)
    assert weights["large",] == 1.0
    assert all(64 * weight == int(64 * weight) for weight in weights.values())


@pytest.mark.parametrize("wrong", [-0.1, 1.01, float("nan")])
def test_other_balances_are_refused(wrong: float) -> None:
    with pytest.raises(SettingsError, match="give a number from 0"):
        group_weights(census(UNEQUAL), wrong)
