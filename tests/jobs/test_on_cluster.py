"""ingest → fit → score → evaluate by spark-submit on a real standalone cluster, the package shipped with --py-files."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.cluster.standalone import REPOSITORY, StandaloneCluster, submit
from tests.jobs.corpora import demo_notes, enron_slice

pytestmark = pytest.mark.cluster
SEVERAL = Path(__file__).parent / "several_verbs.py"


class Jobs:
    """Submits the verbs, one after the other, as a user would."""

    def __init__(self, cluster: StandaloneCluster, package_zip: Path, place: Path) -> None:
        self._cluster, self._zip, self.place = cluster, package_zip, place

    def submit(self, script: Path, *flags: object) -> str:
        done = submit(
            self._cluster.url, script, [str(flag) for flag in flags], py_files=self._zip,
            cwd=self.place, log_config=REPOSITORY / "conf" / "log4j2.properties",
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def pipeline(self, ingest: list[object], fit: list[object], *, one_application: bool = False) -> dict:
        """The four verbs, each submitted as a user would, or all in one application, which starts faster."""
        corpus, model = self.place / "corpus", self.place / "model"
        evaluation = self.place / "evaluation.json"
        commands = [
            ["ingest", *ingest, "--output", corpus],
            ["fit", "--corpus", corpus, "--model", model, *fit],
            ["score", "--corpus", corpus, "--model", model, "--output", self.place / "scores"],
            ["evaluate", "--corpus", corpus, "--model", model, "--output", evaluation],
        ]
        if one_application:
            (self.place / "commands.json").write_text(json.dumps(commands, default=str))
            ending = self.submit(SEVERAL, self.place / "commands.json")
        else:
            ending = "".join(self.submit(REPOSITORY / "jobs" / f"{verb}.py", *flags) for verb, *flags in commands)
        assert "topics from" in ending
        return {
            "corpus": json.loads((corpus / "corpus.json").read_text()),
            "model": json.loads((model / "summary.json").read_text()),
            "evaluation": json.loads(evaluation.read_text()),
        }


@pytest.fixture
def jobs(standalone_cluster: StandaloneCluster, package_zip: Path, tmp_path: Path) -> Jobs:
    return Jobs(standalone_cluster, package_zip, tmp_path)


def check(found: dict, place: Path) -> None:
    """What must hold for any corpus: nothing lost on the way, and topics that predict better than word frequencies."""
    corpus, model, evaluation = found["corpus"], found["model"], found["evaluation"]
    assert corpus["read"] == corpus["kept"] + sum(corpus["dropped"].values())
    assert model["documents"] + sum(model["dropped"].values()) == corpus["documents"]["train"]
    assert evaluation["documents"] <= corpus["documents"]["test"]
    assert evaluation["loss"] < evaluation["unigram_loss"]
    scores = pq.read_table(place / "scores")
    assert {"doc_id", "path", "topic", "label", "unknownShare", "topicDistribution"} <= set(scores.column_names)
    assert scores.num_rows == corpus["kept"] == len(set(scores["doc_id"].to_pylist()))
    shares = np.array(scores["topicDistribution"].to_pylist())
    assert shares.shape[1] == model["k"]
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)


def test_demo(jobs: Jobs) -> None:
    notes = demo_notes(jobs.place)
    found = jobs.pipeline(
        ["--source", "table", "--input", notes, "--text-col", "text", "--path-cols", "region,town", "--id-col", "id",
         "--holdout", "150"],
        ["--k", "12"],
    )
    check(found, jobs.place)
    assert found["corpus"]["dropped"] == {}
    assert found["evaluation"]["loss"] < found["evaluation"]["unigram_loss"] - 1
    assert len(pq.read_table(jobs.place / "model" / "nodes")) == 13


@pytest.mark.data
def test_amazon(jobs: Jobs, real_data: Path) -> None:
    found = jobs.pipeline(
        ["--config", REPOSITORY / "conf" / "amazon.toml", "--input", real_data / "amazon_reviews" / "sorted_data_acl"],
        ["--k", "20", "--refine-passes", "0"], one_application=True,
    )
    check(found, jobs.place)
    assert found["corpus"]["read"] == 8000
    assert found["corpus"]["documents"]["test"] == 400
    assert found["evaluation"]["loss"] < found["evaluation"]["unigram_loss"] - 0.3


@pytest.mark.data
def test_a_slice_of_enron(jobs: Jobs, real_data: Path) -> None:
    archive = enron_slice(real_data / "enron" / "enron_mail.tar.gz", jobs.place)
    found = jobs.pipeline(
        ["--source", "enron", "--input", archive, "--vocab-size", "3000", "--min-documents", "5", "--holdout",
         "100/group"],
        ["--k", "20", "--refine-passes", "1"], one_application=True,
    )
    check(found, jobs.place)
    assert found["corpus"]["read"] == 5000
    assert found["evaluation"]["loss"] < found["evaluation"]["unigram_loss"] - 0.3


def test_a_failing_job_says_why_in_one_line(jobs: Jobs, standalone_cluster: StandaloneCluster) -> None:
    done = submit(
        standalone_cluster.url, REPOSITORY / "jobs" / "fit.py", ["--corpus", "none", "--model", "m"], cwd=jobs.place
    )
    assert done.returncode == 2
    said = done.stdout + done.stderr                        # spark-submit passes both on as one
    assert "spectral-spark: --corpus: there is nothing at 'none'" in said
    assert "Traceback" not in said
    assert not (jobs.place / "m").exists()
