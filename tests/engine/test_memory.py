"""What cannot fit is refused before anything runs; a forecast adds up."""

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.engine import memory
from spectral_spark.errors import CapacityError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.forecast import forecast
from spectral_spark.fit.kernel_costs import CorpusSize, KernelCosts, measure_kernels

COSTS = KernelCosts(range=1e-5, moments=3e-5, refine=5e-5)


def test_a_fit_that_cannot_fit_is_refused_with_numbers(spark: Any) -> None:
    with pytest.raises(CapacityError, match=r"GiB on the driver and .* Python workers .*`vocabSize`"):
        memory.check_memory(10, 100_000_000, 5_000, spark)


def test_workers_count_in_local_mode(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    need = memory.memory_need(10_000, 62)
    monkeypatch.setattr(memory, "available_memory", lambda: need.driver + need.worker // 2)
    memory.check_memory(10, 10_000, 62, None)
    with pytest.raises(CapacityError):
        memory.check_memory(10, 10_000, 62, spark)


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 400\nfile 300\n")
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory._container_memory(tmp_path) == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._container_memory(tmp_path) is None


def test_a_forecast_takes_no_memory_for_counts() -> None:
    """Two documents with a word that occurs two thousand million times: nobody has so many distinct words."""
    tracemalloc.start()
    costs = measure_kernels(CorpusSize(2, 4 * 10**9, 50), FitSettings(k=5))
    measure_kernels(CorpusSize(2, 10**7, 50_000), FitSettings(k=5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 30
    assert costs.moments < 0.1


def test_a_forecast_follows_the_setting_that_decides_where_a_fit_runs() -> None:
    size, settings = CorpusSize(10_000, 600_000, 5_000), FitSettings(k=20)
    here = forecast(size, settings, 2, costs=COSTS)
    there = forecast(size, settings, 2, costs=COSTS, driver_entries=0)
    assert {step.bottleneck for step in here.passes if step.name.startswith("range")} == {"kernel"}
    assert "starting jobs" in {step.bottleneck for step in there.passes}
    assert there.seconds > here.seconds + 1


def test_a_forecast_knows_who_sweeps_all_words() -> None:
    """The driver of a local session does, up to 64 million words, and then holds them; elsewhere workers do."""
    size, settings = CorpusSize(3 * 10**6, 60 * 10**6, 20_000), FitSettings(k=50)
    here = forecast(size, settings, 2, costs=COSTS)
    there = forecast(size, settings, 2, costs=COSTS, local=False)
    steps = [{step.name: step.seconds for step in found.passes} for found in (here, there)]
    assert steps[0]["moments"] == steps[1]["moments"]                     # passes over all documents are of workers
    assert steps[0]["sampling all"] < steps[1]["sampling all"]
    assert here.memory.driver > there.memory.driver + 16 * size.tokens
    beyond = replace(size, tokens=70 * 10**6)
    assert forecast(beyond, settings, 2, costs=COSTS) == forecast(beyond, settings, 2, costs=COSTS, local=False)
    held = replace(size, documents=10**6, tokens=18 * 10**6)
    passes = {step.name for step in forecast(held, settings, 2, costs=COSTS).passes if step.bottleneck == "kernel"}
    assert "moments" in passes                                            # by the driver, without a job


def test_a_forecast_grows_with_the_documents_and_shrinks_with_cores() -> None:
    settings = FitSettings(k=50, refine_passes=2)
    small, large = (
        forecast(CorpusSize(n, 60 * n, 10_000), settings, 2, costs=COSTS, local=False) for n in (10**6, 10**7)
    )
    assert 8 < large.seconds / small.seconds < 10.5
    spread = forecast(CorpusSize(10**7, 6 * 10**8, 10_000), settings, 64, executors=16, costs=COSTS)
    assert spread.seconds < large.seconds / 10
    assert {step.name for step in large.passes} >= {"range 1", "range 2", "moments", "solve", "sampling", "refine 2.4"}
    plain = forecast(CorpusSize(10**7, 6 * 10**8, 10_000), replace(settings, explore_sweeps=0), 2, costs=COSTS)
    assert {step.name for step in plain.passes} - {step.name for step in large.passes} >= {"refine 2.8"}
    assert large.seconds == sum(step.seconds for step in large.passes)


def test_containers_too_small_for_their_workers_are_remarked_upon() -> None:
    need = memory.MemoryNeed(driver=1 << 30, worker=900 << 20, broadcast=0)
    yarn = {"spark.master": "yarn", "spark.executor.memory": "4g", "spark.executor.cores": "2"}
    said = memory.executor_shortage(need, yarn)                            # a tenth of the heap is 410 MiB
    assert said is not None
    assert "`spark.executor.memoryOverhead=1800m`" in said
    for enough in ({"spark.executor.memoryOverhead": "1800"}, {"spark.executor.pyspark.memory": "2g"},
                   {"spark.executor.memoryOverheadFactor": "0.5"}, {"spark.master": "spark://host:7077"}):
        assert memory.executor_shortage(need, yarn | enough) is None


def test_documents_on_the_driver_take_memory() -> None:
    settings = FitSettings(k=50)
    few, many = (
        forecast(CorpusSize(n, 18 * n, 20_000), settings, 2, costs=COSTS, local=False).memory for n in (10**6, 10**7)
    )
    assert few.driver + (200 << 20) < many.driver < few.driver + (1 << 30)
    assert few.worker == many.worker
    assert memory.held_bytes(memory.MOST_KNOWN + 1, 5) < memory.held_bytes(1000, 5)       # nobody knows so many


def test_the_check_of_a_large_corpus_takes_a_block_of_every_shard() -> None:
    def check(documents: int) -> float:
        found = forecast(CorpusSize(documents, 18 * documents, 20_000), FitSettings(k=50), 2, costs=COSTS)
        return next(step.seconds for step in found.passes if step.name == "check")

    assert 3.5 < check(10**8) / check(10**7) < 4.5           # 1,024 shards, and 4,096, the most there are
    assert check(10**7) > 5 * check(10**5)
