"""The settings of the estimators and of ingest: every name, type, range, default and explanation is written here, once.

The parameters of ``SpectralHDP`` and ``SpectralIBP`` with their getters and setters, the plain settings of a fit, the
flags of the command line with their help, the keys of configuration files and the reference page come from this table.
``python -m spectral_spark.cli.generate`` rewrites the generated files after a change.
"""

from dataclasses import replace
from typing import Any

from spectral_spark.data.setting import Audience, Setting, SettingsTable
from spectral_spark.data.value_types import (
    LARGEST_COUNT,
    LARGEST_SEED,
    Choice,
    Number,
    NumberOrWord,
    PositiveNumbers,
    Switch,
    Text,
    TextOrTable,
    TextOrTexts,
    TextOrWhole,
    Texts,
    Whole,
)

AUTO = "auto"
_COLUMN = Text("the name of a column", "COLUMN")
_EXPERTS, _COLUMNS = Audience.EXPERTS, Audience.COLUMNS

_SEED = Setting(
    "seed", Whole(0, LARGEST_SEED), 0,
    "Random seed. The same documents, settings and seed give the same model, bit for bit.",
    aliases=("random_state", "random_seed", "rng"),
)
_CHECKPOINT_DIR = Setting(
    "checkpointDir", Text("a directory", "DIR"), None,
    "Directory that keeps finished passes until the fit is done, so that the same fit resumes after it was killed.",
    aliases=("checkpoint", "checkpoints"),
)

_LANGUAGE = Setting(
    "language", Texts("a list of languages", "LANGUAGE,…"), None,
    "Languages of the texts, as codes or names (de,en): their stop words are left out, Chinese and Japanese are cut "
    "into words, and elided articles are cut off in French, Italian and Catalan.", _COLUMNS, ("languages", "lang"),
)
_LEMMAS = Setting(
    "lemmas", Switch(), False,
    "Take words in their dictionary form, in the languages given (English by default).",
    _COLUMNS, ("lemmatize", "lemmatise", "stem"),
)
_PHRASES = Setting(
    "phrases", Whole(1, LARGEST_COUNT, AUTO), None,
    "Find phrases such as natural gas and take each as one word, natural_gas: at most so many, or all that pass a test "
    "(auto). None by default.", _COLUMNS, ("ngrams", "bigrams", "collocations"),
)

HDP = SettingsTable(
    "SpectralHDP",
    Setting(
        "k", Whole(1, word=AUTO), AUTO,
        "Number of topics, or auto to estimate it from the spectrum of the second moment.",
        aliases=("topics", "num_topics", "n_topics", "number_of_topics", "n_components", "rank"),
    ),
    Setting("featuresCol", _COLUMN, "features",
            "Column of word counts as pyspark.ml Vectors, as CountVectorizer makes it.", _COLUMNS,
            ("input_col", "counts", "vectors")),
    Setting("termsCol", _COLUMN, None,
            "Column with an array of word ids per document. Use it with countsCol, instead of featuresCol.", _COLUMNS),
    Setting("countsCol", _COLUMN, None, "Column with an array of counts, one for each entry of termsCol.", _COLUMNS),
    Setting("textCol", _COLUMN, None,
            "Column of raw text, instead of featuresCol. Its words are counted as ingest counts them.", _COLUMNS,
            ("text", "document_col", "documents")),
    Setting("stopWords", TextOrTexts("the names of languages, none, a file with one word per line, or a list of words",
                                     "LIST"),
            "english", "Words to leave out of textCol: the lists of languages (german,english), none, a file with one "
            "word per line, or a list of words. Where language is given, its lists are the default.", _COLUMNS,
            ("stopwords", "stop_word_list")),
    _LANGUAGE,
    _LEMMAS,
    _PHRASES,
    Setting("minWordLength", Whole(1), 3, "Words of textCol with fewer letters are left out.", _COLUMNS),
    Setting("minDocuments", Whole(1), 10, "A word of textCol must occur in at least this many documents.", _COLUMNS,
            ("min_df", "mindf")),
    Setting("maxDocumentShare", Number(0, 1, above=True), 0.5,
            "A word of textCol must not occur in a larger share of the documents.", _COLUMNS, ("max_df", "maxdf")),
    Setting("pathCol", _COLUMN, "path",
            "Column with the document's path in the tree: an array of strings, from the top-level group down to the "
            "group that holds the document, or one string, the group. If the column is absent, there is no tree.",
            _COLUMNS, ("tree_col", "group_col", "groups")),
    Setting("pathCols", Texts("the names of columns", "A,B,…"), None,
            "Columns with the names of the document's groups, one column per level of the tree, instead of pathCol.",
            _COLUMNS, ("group_cols", "levels_cols")),
    Setting("idCol", _COLUMN, None,
            "Column that identifies a document. Without it, documents are told apart by their content.", _COLUMNS,
            ("doc_id", "document_id")),
    Setting("topicDistributionCol", _COLUMN, "topicDistribution",
            "Column of topic proportions that transform adds.", _COLUMNS, ("output_col",)),
    Setting("evaluationCol", _COLUMN, "evaluation",
            "Column that transform adds for TopicModelEvaluator; an empty name leaves it out. Spark computes it only "
            "where it is used.", _COLUMNS),
    Setting("vocabulary", Texts("a list of words, one per id", "WORDS"), None,
            "The words in the order of their ids.", _COLUMNS, ("words", "vocab")),
    Setting("vocabSize", Whole(1), None,
            "Number of distinct words. With termsCol, needed when there is no vocabulary; with textCol, the most words "
            "to keep (10,000 if not set).", _COLUMNS),
    Setting("solver", Choice((AUTO, "polar", "power", "als", "sketch", "implicit")), AUTO,
            "Algorithm that decomposes the third moment into topics. implicit never forms that moment: it works on a "
            "sample of the documents, and its memory grows with k instead of its cube. auto takes implicit beyond 200 "
            "topics (a basis of 250 columns) and where all words of more than six million are sampled afterwards, and "
            "polar, from the moments of all documents, otherwise.", aliases=("method", "algorithm", "optimizer")),
    Setting(
        "weighting", Choice(("uniform", "ess", "tokens")), "tokens",
        "How documents are weighted in the moments: by their number of words (tokens), so that every tree node is the "
        "plain average of its children (uniform), or so that children count by how exactly they are known and how much "
        "they differ (ess): effective sample sizes by random effects.", aliases=("weights", "document_weights"),
    ),
    Setting("preset", Choice(("paper",)), None,
            "Settings for a purpose: paper is the published spectral algorithm as it is printed, for comparisons, with "
            "solver power, als or sketch. Settings that are given win over the preset, and the summary names them.",
            aliases=("profile", "mode", "recipe")),
    Setting("layers", Whole(2, word="all"), "all",
            "Layers of the document tree to use: 2 ignores the groups, 3 uses one level of groups, and so on.",
            aliases=("depth", "levels")),
    Setting(
        "concentrations", PositiveNumbers((AUTO, "calibrated")), AUTO,
        "Dirichlet concentrations, one per layer below the root, from the top down, or one for the documents alone. "
        "Given numbers are used by every step and stay as they are; auto learns them during refinement (without "
        "refinement, by held-out loss); calibrated takes them from the moments.",
        aliases=("alpha", "concentration", "doc_concentration", "gamma"),
    ),
    Setting("refinePasses", Whole(0, word=AUTO), AUTO,
            "Passes of EM over all documents after sampling; 0 for neither sampling nor EM. auto runs 2, and none for "
            "corpora of more than 6 million words, all of which are sampled.",
            aliases=("iterations", "max_iter", "maxiter", "passes", "refine", "epochs")),
    Setting(
        "exploreSweeps", Whole(0, word=AUTO), AUTO,
        "Sweeps of Gibbs sampling before the refinement passes; 0 for none. auto runs 60 sweeps, and up to 300 on "
        "small corpora. Of a corpus with more than 6 million words a sample is swept (160 times with auto), then all "
        "words, a tenth as often.", aliases=("sweeps", "gibbs_sweeps", "samples", "burn_in"),
    ),
    Setting(
        "groupBalance", Number(0, 1, metavar="B"), 0.0,
        "How strongly small top-level groups are up-weighted in sampling and refinement: 0 counts all documents "
        "equally, 1 counts all groups equally. A document's weight is proportional to (documents in its group)^-B, and "
        "at most 16 times that of a document in the largest group.", aliases=("balance",),
    ),
    Setting("seeds", TextOrTable(), None,
            "Words that topics are to be about: a TOML file with a table for each topic, or the same as a dict, in "
            "short {\"name\": [\"word\", \"word\"]}. The topics get the names and numbers given there.",
            aliases=("seed_words", "guided", "anchors")),
    Setting("background", Switch(), None,
            "Give the words that are common everywhere a topic of their own, the last one.",
            aliases=("background_topic", "common_words")),
    Setting("replayWords", Whole(0), 6_000_000,
            "Size of the sample of documents, as word ids and counts without text, that stays with the model so that "
            "updates can refine the topics again; in words. 0 keeps none.", aliases=("replay_size", "keep_sample")),
    _CHECKPOINT_DIR,
    _SEED,
    Setting("rankRule", Choice(("noise-floor", "gap", "paper")), "noise-floor",
            "How topics are counted when k is auto: eigenvalues above the noise floor, the largest relative gap "
            "between eigenvalues, or the rule of the paper.", _EXPERTS),
    Setting("basisSize", Whole(2, word=AUTO), AUTO,
            "Columns of the basis in which moments are collected. auto takes a quarter more than k (at least 10 more), "
            "or 128 when k is auto too, and more where so many topics are found.", _EXPERTS,
            ("basis_columns", "basis_dim", "p")),
    Setting("rangePasses", Whole(1, word=AUTO), AUTO,
            "Passes that find the basis. auto goes on until it settles, at most 8 times, but takes 2 for more than 200 "
            "topics and before sampling more than six million words. A number is that many of subspace iteration.",
            _EXPERTS, ("power_passes", "power_iterations")),
    Setting("wordScaling", Number(0, 1, metavar="A"), 0.25,
            "Exponent A of the word scaling (word frequency)^-A in the basis; larger values give rare words more "
            "influence.", _EXPERTS),
    Setting("countCap", Number(0), 16.0,
            "A word counts at most this many times per document in the moments; 0 for no cap.", _EXPERTS,
            ("max_count", "cap")),
    Setting("tensors", Choice((AUTO, "root", "groups")), AUTO,
            "Which third moments to decompose: that of the whole corpus (root), or the average over groups (groups), "
            "which is exact for the groups at hand. auto tries both on held-out words where concentrations are auto "
            "and nothing is refined; before a refinement it takes groups for up to 64 groups of at least 50 documents "
            "each, and root otherwise.", _EXPERTS),
    Setting("spectralStep", Choice(("robust", "printed")), "robust",
            "How moments become topics. printed follows the paper to the letter: whitening by singular values, solvers "
            "without polish, topics and weights from eigenvalues, no smoothing; its topics contain zeros.", _EXPERTS),
    Setting("nodeSums", Choice((AUTO, "keep")), AUTO,
            "With the weightings uniform and ess: whether the moments of every tree node are kept apart, as updates, "
            "merges and removals need them; that takes time and memory for every node. auto keeps them in small trees, "
            "keep in all of up to 256 MiB.", _EXPERTS, ("node_states", "keep_nodes")),
)

# What a preset sets, unless it was given.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "solver": "power", "weighting": "uniform", "refinePasses": 0, "rankRule": "paper", "wordScaling": 0.0,
        "countCap": 0.0, "tensors": "root", "spectralStep": "printed",
    },
}

IBP = SettingsTable(
    "SpectralIBP",
    Setting("kind", Choice(("binary", "isfa", "iica")), "binary",
            "The model: binary features, sparse factors (isfa, Gaussian) or independent components (iica, Laplace).",
            aliases=("model_type", "type")),
    Setting("k", Whole(1, 40, AUTO), AUTO,
            "Number of features, or auto to count the eigenvalues above the noise.",
            aliases=("features", "num_features", "n_features", "n_components", "rank", "topics")),
    Setting("featuresCol", _COLUMN, "features", "Column of pyspark.ml Vectors or arrays of numbers.", _COLUMNS,
            ("input_col", "vectors")),
    Setting("idCol", _COLUMN, None,
            "Column that identifies a row. Without it, rows are told apart by their content.", _COLUMNS),
    Setting("codesCol", _COLUMN, "codes",
            "Column that transform adds with the code of each row: the most likely binary features, or the expected "
            "value of the factors.", _COLUMNS, ("output_col",)),
    Setting("activityCol", _COLUMN, "activity",
            "Column that transform adds for isfa and iica with the probability that each feature is active.", _COLUMNS),
    Setting("reconstructionCol", _COLUMN, "reconstruction",
            "Column that reconstruct adds with each row as the features explain it.", _COLUMNS),
    Setting("missing", Choice(("refuse", "mean", "pairwise")), "refuse",
            "What to do with nulls and NaN: refuse them, take every moment over the values that are there (pairwise, "
            "without bias), or put the mean of the column in their place (mean, which shrinks covariances).",
            aliases=("impute", "na", "nan")),
    Setting("polish", Whole(0), 0,
            "Rounds of least squares that improve the features after the spectral solution; each takes one more pass.",
            aliases=("refine_passes", "iterations", "max_iter")),
    _CHECKPOINT_DIR,
    _SEED,
    Setting("solver", Choice(("joint", "paper")), "joint",
            "How cumulants are decomposed: third and fourth together (joint), or one after the other as in the paper.",
            _EXPERTS, ("method", "algorithm")),
    Setting("offset", Choice(("auto", "none", "free")), "auto",
            "Whether binary features come with a constant offset: none, free (estimated), or auto to decide from the "
            "data.", _EXPERTS, ("intercept",)),
    Setting("probabilitiesFrom", Choice(("eigenvalues", "mean")), "eigenvalues",
            "Where the probabilities of binary features come from: eigenvalues of the third cumulant, or the mean.",
            _EXPERTS),
    Setting("powerPasses", Whole(2), 3,
            "Passes of subspace iteration when there are too many columns for a full covariance matrix.", _EXPERTS,
            ("range_passes", "power_iterations")),
    Setting("noiseVariance", Number(0), None,
            "Variance of the noise, if it is known. By default it is estimated from the smallest eigenvalues.",
            _EXPERTS, ("noise", "sigma")),
    Setting("kurtosis", NumberOrWord(1, word="estimate", metavar="X|estimate"), None,
            "Kurtosis of the sources of isfa and iica (the fourth moment over the squared variance), or estimate to "
            "measure it with one more pass. By default 3 for isfa, Gaussian, and 6 for iica, Laplace.", _EXPERTS),
    Setting("rankRule", Choice(("noise-edge", "largest-slope")), "noise-edge",
            "How features are counted when k is auto: eigenvalues above the edge of the noise, or up to the largest "
            "drop between neighbouring eigenvalues, the rule of the paper.", _EXPERTS),
    Setting("noiseRule", Choice(("trailing-mean", "smallest-eigenvalue")), "trailing-mean",
            "How the variance of the noise is estimated: the mean of the eigenvalues below the features, or the "
            "smallest eigenvalue, the rule of the paper.", _EXPERTS),
    Setting("basisSize", Whole(1, 40, AUTO), AUTO,
            "Directions in which third and fourth moments are kept with the model, for updates and for another k. auto "
            "takes a quarter more than k (at least 4 more and at least 12 in all, at most 40 and the columns).",
            _EXPERTS, ("basis_columns", "p")),
)

_MANY = Whole(1, LARGEST_COUNT)

INGEST = SettingsTable(
    "ingest",
    Setting("source", Choice(("enron", "amazon", "folders", "uci", "table")), None, "Format of the input.",
            required=True),
    Setting("input", Text("a path", "PATH"), None,
            "File or directory to read, on a path that the driver can reach (uci and table: the executors too); for "
            "table also the name of a table, as catalog.schema.table.",
            required=True),
    Setting("output", Text("a path", "CORPUS"), None, "Directory of the new corpus.", required=True),
    Setting("vocabSize", _MANY, 10_000, "Keep at most this many words, the most widespread first."),
    Setting("minDocuments", _MANY, 10, "Drop words that occur in fewer training documents.",
            aliases=("min_df", "mindf")),
    Setting("maxDocumentShare", Number(0, 1, above=True, metavar="SHARE"), None,
            "Drop words that occur in a larger share of the training documents; 1 keeps them all. By default 0.5 for "
            "text, and 1 for words that come ready-made (uci, tokens-col).", aliases=("max_df", "maxdf")),
    Setting("vocabulary", Text("the path of a model or a corpus", "PATH"), None,
            "Use exactly the words of this model or corpus, in their order, so that an update of the model loses "
            "nothing; the other limits on words then do not apply."),
    Setting("holdout", TextOrWhole(metavar="N|N/group"), None,
            "Set aside this many documents for testing, in total or per top-level group: 1000 or 100/group. At most "
            "half of the documents, or of a group, is taken."),
    Setting("seed", Whole(0, LARGEST_SEED), 0, "Random seed for choosing the held-out documents."),
    Setting("textCol", _COLUMN, None, "Column with the text (table only)."),
    Setting("tokensCol", _COLUMN, None, "Column with the words as an array, instead of text (table only)."),
    Setting("pathCols", Texts(), None,
            "Columns that form the document tree, from the top down (table only)."),
    Setting("idCol", _COLUMN, None, "Column that identifies a document (table only)."),
    Setting("keepCols", Texts(), None,
            "Columns to carry into the corpus, so that explain, compare and score find them there: any columns of a "
            "table; date, month and sender of enron; rating, date, month, reviewer and product of amazon "
            "(sorted_data_acl).",
            aliases=("keep", "metadata", "metadata_cols")),
    Setting("format", Choice(("parquet", "json", "csv", "delta", "iceberg")), None,
            "File format, if it cannot be told from the file name (table only)."),
    Setting("tableVersion", Whole(0, LARGEST_SEED), None,
            "Version of a Delta table, or snapshot of an Iceberg table, to read instead of the newest (table only)."),
    Setting("missingPath", Choice(("drop", "unknown", "error")), "drop",
            "What to do with documents that have a null in their path: drop and count them, file them under 'unknown', "
            "or stop with an error."),
    Setting("stopWords", Text("languages, none, or a file", "WHICH"), "english",
            "Words to leave out: the lists of languages (english; german,en), none, or a file with one word per line. "
            "Where language is given, its lists are the default.", aliases=("stopwords",)),
    replace(_LANGUAGE, audience=Audience.EVERYONE),
    replace(_LEMMAS, audience=Audience.EVERYONE, default=None),
    replace(_PHRASES, audience=Audience.EVERYONE),
    Setting("tokeniser", Text("package.module:function", "MODULE:FUNCTION"), None,
            "A function of your own from a text to its words, by the name that Python imports it by, on the executors "
            "too. Its words are used as they are.", aliases=("tokenizer",)),
    Setting("dropLines", Text("a file", "FILE"), None,
            "Leave out the lines of texts that are in this file, whatever their case and white space."),
    Setting("findBoilerplate", Text("a file to write", "FILE"), None,
            "Also write the lines that occur in many documents to this file, with the numbers of documents and groups, "
            "the most frequent first. It holds text of the documents: look at it, delete what should stay, and give it "
            "to drop-lines."),
    Setting("boilerplateDocuments", Whole(2, LARGEST_COUNT), 100,
            "Number of documents that a line must occur in for find-boilerplate to list it."),
    Setting("minWordLength", _MANY, 3, "Drop words with fewer letters. Applies to text only."),
    Setting("minTokens", _MANY, 3,
            "Drop documents with fewer words, before or after the vocabulary is chosen. A third moment needs three."),
    Setting("dropDuplicates", Switch(), None,
            "Keep only one of several documents with the same text. Always on for enron and amazon, where copies would "
            "leak from the training into the test documents."),
    Setting("maxDocumentBytes", _MANY, 10 << 20,
            "Drop and count mails and files that are larger than this; they are never held in memory."),
    Setting("maxInputBytes", _MANY, 1 << 40, "Refuse an archive that unpacks to more than this."),
)
