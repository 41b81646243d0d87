"""Known documents: compared with plain Python multisets of (key, content)."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_spark.moments.known_documents import BYTES_PER_DOCUMENT, KnownDocuments

DOCUMENTS = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), max_size=30)


def known(documents: list[tuple[int, int]]) -> KnownDocuments:
    pairs = np.array(documents, np.int64).reshape(-1, 2)
    return KnownDocuments(pairs[:, 0], pairs[:, 1])


def counted(documents: KnownDocuments) -> Counter[tuple[int, int]]:
    return Counter(zip(documents.keys.tolist(), documents.contents.tolist(), strict=True))


@given(DOCUMENTS, DOCUMENTS)
def test_adding_and_removing_are_those_of_multisets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert counted(known(one) + known(other)) == Counter(one) + Counter(other)
    assert counted(known(one) - known(other)) == Counter(one) - Counter(other)
    assert (known(one) + known(other)) - known(other) == known(one)


@given(DOCUMENTS, DOCUMENTS)
def test_arrivals_are_new_known_or_changed(model: list[tuple[int, int]], batch: list[tuple[int, int]]) -> None:
    keys = {key for key, _ in model}
    arriving, documents = known(model).arriving(known(batch)), known(batch)
    for place, pair in enumerate(zip(documents.keys.tolist(), documents.contents.tolist(), strict=True)):
        expected = (pair[0] not in keys, pair in model, pair[0] in keys and pair not in model)
        assert (arriving.new[place], arriving.same[place], arriving.changed[place]) == expected


@given(DOCUMENTS, DOCUMENTS)
def test_only_what_is_there_can_leave(model: list[tuple[int, int]], batch: list[tuple[int, int]]) -> None:
    leaving, documents = known(model).leaving(known(batch)), known(batch)
    assert counted(documents.selected(leaving.same)) == Counter(model) & Counter(batch)
    assert np.all(leaving.new.astype(int) + leaving.same + leaving.changed == 1)


def test_a_copy_beyond_those_counted_is_not_there() -> None:
    leaving = known([(1, 0), (1, 0)]).leaving(known([(1, 0), (1, 0), (1, 0), (1, 2), (3, 0)]))
    assert leaving.same.tolist() == [True, True, False, False, False]
    assert leaving.changed.tolist() == [False, False, False, True, False]
    assert leaving.new.tolist() == [False, False, True, False, True]


def test_twelve_bytes_a_document() -> None:
    documents = known([(number, number % 7) for number in range(1000)])
    assert (documents.keys.nbytes + documents.contents.nbytes) / len(documents) == BYTES_PER_DOCUMENT


def test_keys_without_contents_are_refused() -> None:
    with pytest.raises(ValueError, match="one of each per document"):
        KnownDocuments(np.arange(3), np.arange(2))
