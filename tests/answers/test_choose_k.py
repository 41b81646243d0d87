"""The number of topics: the recommendation follows its rule, and what comes back is counted as it says."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP
from spectral_spark.answers.choose_k import returning
from spectral_spark.answers.k_recommendation import KResult, recommended
from spectral_spark.cli import main
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.exclusivity import topic_exclusivity
from spectral_spark.report.choice_page import choice_page, choice_svg

BASE = KResult(10, "10", 6.0, 7.0, 0.1, 0.5, 0.9, 0.8, 1.0)


def test_the_lowest_loss_among_steady_numbers_is_recommended() -> None:
    results = [
        replace(BASE, k=50, loss=5.7, seed_return=0.45), replace(BASE, k=30, loss=5.800, seed_return=0.6),
        replace(BASE, k=20, loss=5.805, seed_return=0.7), BASE,
    ]
    choice = recommended(results)
    assert choice.recommended == 20                      # 30 topics gain less than 0.01, 50 do not come back
    assert [result.k for result in choice.results] == [10, 20, 30, 50]
    assert "30 topics gain no more" in choice.reason
    assert recommended(results, stable=0.4).recommended == 50
    assert [row["recommended"] for row in choice.rows()] == [False, True, False, False]


def test_where_nothing_is_steady_the_steadiest_is_taken() -> None:
    choice = recommended([replace(BASE, seed_return=0.2), replace(BASE, k=20, seed_return=0.3)])
    assert choice.recommended == 20
    assert "at no number of topics" in choice.reason


def test_topics_that_come_back_and_exclusive_ones() -> None:
    topics = np.eye(6, 3) * 0.94 + 0.01
    assert returning(topics, topics[:, [2, 0, 1]]).all()
    other = topics.copy()
    other[:, 1] = np.roll(topics[:, 1], 3)
    assert returning(topics, other[:, ::-1]).tolist() == [True, False, True]
    assert returning(topics, topics[:, :2]).sum() == 2
    assert topic_exclusivity(topics, 1) == pytest.approx(0.95 / 0.97)
    assert topic_exclusivity(np.full((6, 3), 1 / 6), 2) == pytest.approx(1 / 3)


def test_the_picture_and_the_page_are_well_formed_and_show_hostile_names_as_text() -> None:
    choice = recommended([BASE, replace(BASE, k=20, loss=5.5, npmi=-0.2)])
    picture = ElementTree.fromstring(choice_svg(choice))
    assert len([part for part in picture.iter() if part.tag.endswith("circle")]) == 2 * 5
    page = choice_page(choice, "<script>alert(1)</script>")
    assert "<script>" not in page
    assert page.count("<tr class=best>") == 1
    ElementTree.fromstring(choice_svg(recommended([BASE])))              # a single number has a picture, too


def test_numbers_are_compared_on_spark(documents: Any) -> None:
    columns = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id", "vocabSize": 300}
    estimator = SpectralHDP(exploreSweeps=12, refinePasses=1, **columns)
    part = documents.filter(F.crc32("doc_id") % 2 == 0)
    choice = estimator.chooseK(part, [3, 5])
    again = estimator.chooseK(part.repartition(3), [5, 3])
    assert [replace(row, seconds=0.0) for row in choice.results] == [replace(row, seconds=0.0) for row in again.results]
    three, five = choice.results
    assert five.loss < three.loss < three.unigram_loss
    assert five.seed_return >= 0.8                       # these documents were drawn from five topics
    assert choice.recommended == 5
    with pytest.raises(SettingsError, match="at least 2"):
        estimator.chooseK(documents, [1, 5])


def test_seeds_take_part_in_every_fit(documents: Any) -> None:
    words = [f"w{number}" for number in range(300)]
    estimator = SpectralHDP(
        exploreSweeps=10, refinePasses=1, termsCol="terms", countsCol="counts", idCol="doc_id", vocabulary=words,
        seeds={"first": words[:3]},
    )
    choice = estimator.chooseK(documents.filter(F.crc32("doc_id") % 4 == 0), [3])
    assert choice.results[0].loss < choice.results[0].unigram_loss
    with pytest.raises(InputError, match="`seeds` has 3 topics, and there are 2"):
        estimator.setSeeds({name: [name] for name in words[:3]}).chooseK(documents, [2])


def test_a_wrong_number_ends_the_command_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["choose", "--corpus", str(tmp_path / "none"), "--k", "5", "--output", str(tmp_path / "out")]) != 0
    assert "there is nothing at" in capsys.readouterr().err
