"""Everything this package writes: the name of each format, its version, and the policy for versions.

Policy
------
- A format has one whole number as its version. It is raised only when an older release could not read the new files;
  further keys, columns or files that old readers ignore do not raise it.
- Every release reads all versions up to its own, starting with what release 0.1.0 wrote (version 1 of each format).
- A file of a newer version is refused with the advice to upgrade, never read in part.
- Checkpoints and staging directories are private to one run: another release may ignore them.

How a directory is recognised
-----------------------------
Models, estimators, bases, moment states and checkpoints have a ``manifest.json`` (``kind``, ``version``, and the size
and SHA-256 of every file); a corpus has ``corpus.json`` (``kind``, ``version``). Directories of Parquet files that
Spark writes (scores and codes) have ``_manifest.json``: readers of Parquet skip names that start with an underscore.
Scores written by 0.1.0 have no manifest and are recognised by their two columns. Only what is recognised is ever
overwritten, and only by output of the same kind.
"""

MANIFEST = "manifest.json"
TABLE_MANIFEST = "_manifest.json"      # of a directory that Spark reads as one table
CORPUS_JSON = "corpus.json"
UNFINISHED = "_unfinished.json"        # stands in a directory while it is written where directories cannot be renamed

MODEL_KIND, MODEL_VERSION = "spectral-hdp-model", 1
ESTIMATOR_KIND, ESTIMATOR_VERSION = "spectral-hdp-estimator", 1
FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION = "spectral-ibp-model", 1
FEATURE_ESTIMATOR_KIND, FEATURE_ESTIMATOR_VERSION = "spectral-ibp-estimator", 1
CORPUS_KIND, CORPUS_VERSION = "spectral-corpus", 2
BASIS_KIND, BASIS_VERSION = "spectral-basis", 1
STATE_KIND, STATE_VERSION = "spectral-moments", 2
FULL_STATE_VERSION = 1                 # of states with third moments, which every release reads
CHECKPOINT_KIND, CHECKPOINT_VERSION = "checkpoint", 1
SCORES_KIND, SCORES_VERSION = "spectral-scores", 1
CODES_KIND, CODES_VERSION = "spectral-codes", 1
CHOICE_KIND, CHOICE_VERSION = "spectral-choice", 1

ANSWERS_KIND, ANSWERS_VERSION = "spectral-answers", 1

# Files and folders that are recognised by their content; they carry no version.
EVALUATION_KIND, REPORT_KIND, DEMO_NOTES_KIND = "evaluation", "report", "demo-notes"
DEMO_FOLDER_KIND = "demo-folder"       # a folder of the notes that the demo leaves for the tutorials

NAMES = {
    MODEL_KIND: "topic model",
    ESTIMATOR_KIND: "saved SpectralHDP estimator",
    FEATURE_MODEL_KIND: "feature model",
    FEATURE_ESTIMATOR_KIND: "saved SpectralIBP estimator",
    CORPUS_KIND: "corpus",
    BASIS_KIND: "basis",
    STATE_KIND: "moment state",
    CHECKPOINT_KIND: "checkpoint",
    SCORES_KIND: "directory of scores",
    CODES_KIND: "directory of codes",
    ANSWERS_KIND: "file of answers",
    CHOICE_KIND: "choice of the number of topics",
    EVALUATION_KIND: "evaluation",
    REPORT_KIND: "report",
    DEMO_NOTES_KIND: "file of demo notes",
    DEMO_FOLDER_KIND: "folder of demo notes",
}


def name_of(kind: str) -> str:
    """What people call a kind of output, with its article: "a topic model"."""
    name = NAMES.get(kind, kind)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
