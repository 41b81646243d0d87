"""The demo corpus: notes from the towns of a small country, drawn from twelve topics that are easy to recognise.

The documents are drawn from the model itself (``simulate``), so the topics of a fit can be compared with the true ones.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp

TOPICS: dict[str, str] = {
    "kitchen": "bread oven butter flour soup onion garlic recipe dough pepper sauce kettle cheese spoon simmer bake "
               "potato roast pastry honey cinnamon skillet broth vinegar basil carrot pudding stew yeast apron",
    "sailing": "sail harbour anchor mast tide deck captain hull rope jetty breeze crew buoy lighthouse keel voyage "
               "regatta rudder cabin compass ferry dock gull wave sailor knot pier yacht bay cargo",
    "garden": "rose soil seed hedge lawn tulip compost spade blossom pruning orchard bulb fern beetle watering bloom "
              "greenhouse ivy root shrub lavender weed bee petal sunflower mulch pond trellis nursery moss",
    "football": "goal striker penalty referee match coach league keeper pitch stadium corner header tackle season "
                "fixture midfield whistle scarf derby kickoff substitute trophy defender offside squad dribble fans "
                "championship jersey save",
    "astronomy": "star telescope planet comet orbit galaxy moon eclipse nebula meteor lens observatory crater "
                 "satellite saturn jupiter cosmos dwarf gravity constellation sky mars twilight asteroid dome spectrum "
                 "rocket horizon lunar dust",
    "railway": "train station platform ticket locomotive signal carriage timetable conductor tunnel rail freight "
               "passenger junction delay engine depot luggage steam whistle bridge commuter viaduct driver express "
               "coupling guard compartment siding track",
    "hospital": "nurse doctor patient ward surgery fever clinic vaccine bandage pulse medicine ambulance bed symptom "
                "pharmacy dose infection surgeon recovery therapy wound midwife diagnosis cough stretcher thermometer "
                "tablet allergy blood heart",
    "music": "violin piano choir melody concert rhythm drum orchestra song trumpet rehearsal singer chord flute "
             "audience guitar tune composer harmony stage cello encore opera ballad score duet tempo microphone band "
             "bow",
    "court": "judge lawyer trial jury witness verdict appeal sentence evidence statute plaintiff testimony prosecutor "
             "oath defendant contract clerk dispute bail damages ruling lawsuit hearing fraud custody petition "
             "settlement tribunal counsel guilty",
    "school": "teacher pupil lesson homework classroom exam chalk grammar library spelling essay term arithmetic "
              "playground headmaster uniform notebook textbook geography quiz reading pencil history lecture diploma "
              "semester study blackboard tutor satchel",
    "mountains": "summit ridge glacier snow trail climber boulder valley avalanche hut backpack cliff altitude "
                 "crampon waterfall goat meadow peak rope hiker granite ravine shelter slope frost map canyon alpine "
                 "pine compass",
    "market": "price stall merchant bargain coin wool basket trader auction profit tariff invoice cheese grain scales "
              "customer purchase discount wholesale vendor rent loan interest bank ledger credit receipt savings "
              "budget investor",
}
EVERYDAY: str = (
    "morning evening street town people friend village neighbour visit letter winter summer letterbox table window "
    "story walk talk weather holiday family child mother father house door road sunday monday coffee photograph "
    "question answer laughter voice colour quiet busy early late happy tired simple careful local famous friendly "
    "distant ordinary surprise"
)
COUNTRY: dict[str, dict[str, float]] = {
    "coast": {"Seagate": 1.0, "Whitecliff": 0.6, "Oldharbour": 0.4},
    "highlands": {"Stonebridge": 0.8, "Pinewood": 0.5},
    "plains": {"Marketon": 1.2, "Longfield": 0.7, "Rosehill": 0.5, "Collegeville": 0.3},
}
CONCENTRATIONS = (25.0, 50.0, 1.0)          # regions around the country, towns around regions, notes around towns
EVERYDAY_SHARE = 0.15
SEED = 2783                                 # with this seed, every region has topics that suit it


@dataclass(frozen=True, eq=False)
class DemoCorpus:
    """The demo corpus and its true topics.

    Attributes
    ----------
    names : names of the topics.
    words : the d words, in the order of the rows of ``simulated.topics``.
    simulated : documents, tree, topics and proportions as drawn.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    simulated: SimulatedCorpus

    def topics_in(self, vocabulary: tuple[str, ...]) -> np.ndarray:
        """The true topics as an array of shape (len(vocabulary), k); words that are not in it are left out."""
        row = {word: place for place, word in enumerate(self.words)}
        chosen = np.array([row.get(word, -1) for word in vocabulary])
        topics = np.where(chosen[:, None] >= 0, self.simulated.topics[chosen], 0.0)
        return topics / topics.sum(axis=0)


def simulate_demo(documents: int = 5000, seed: int = SEED) -> DemoCorpus:
    """Draw the corpus: the same number of documents and seed give the same words."""
    words, topics = _topics()
    shares = {(region, town): size for region, towns in COUNTRY.items() for town, size in towns.items()}
    whole = sum(shares.values())
    tree = {
        region: {town: max(1, round(documents * shares[region, town] / whole)) for town in towns}
        for region, towns in COUNTRY.items()
    }
    weights = 1.0 / np.arange(6, 6 + len(TOPICS))
    simulated = simulate_hdp(
        topics, tree, CONCENTRATIONS, lengths=(30, 120), seed=seed, root_weights=weights / weights.sum()
    )
    return DemoCorpus(tuple(TOPICS), words, simulated)


def write_demo(corpus: DemoCorpus, path: Path, seed: int = SEED) -> int:
    """Write the documents as JSON lines with the columns id, text, region, town; returns how many."""
    with path.open("w", encoding="utf-8") as sink:
        for i, (region, town, text) in enumerate(_notes(corpus, [seed, 2])):
            note = {"id": f"note-{i:05d}", "text": text, "region": region, "town": town}
            sink.write(json.dumps(note) + "\n")
    return corpus.simulated.batch.n_documents


def write_sample_folders(notes: Path, today: Path, documents: int = 1200, seed: int = SEED) -> tuple[int, int]:
    """Write other notes of the same country as text files in folders, region then town; returns how many in each.

    Every sixth note is put into ``today``, as the documents of the next day, so that both come from the same places and
    topics. The tutorials use these two folders.
    """
    corpus = simulate_demo(documents, seed)
    written = [0, 0]
    for i, (region, town, text) in enumerate(_notes(corpus, [seed, 3])):
        later = i % 6 == 5
        folder = (today if later else notes) / region / town
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note-{i:05d}.txt").write_text(text + "\n", encoding="utf-8")
        written[later] += 1
    return written[0], written[1]


def _notes(corpus: DemoCorpus, seed: list[int]) -> Iterator[tuple[str, str, str]]:
    """Region, town and text of every document, its words in a random order."""
    batch, tree = corpus.simulated.batch, corpus.simulated.tree
    words = np.array(corpus.words)
    rng = np.random.default_rng(seed)
    for i in range(batch.n_documents):
        own = slice(batch.indptr[i], batch.indptr[i + 1])
        spoken = rng.permutation(np.repeat(words[batch.terms[own]], batch.counts[own].astype(int)))
        region, town = tree.paths[batch.nodes[i]]
        yield region, town, _sentences(spoken.tolist())


def _topics() -> tuple[tuple[str, ...], np.ndarray]:
    """All words in alphabetical order, and the topics over them, an array of shape (d, k)."""
    own = {name: words.split() for name, words in TOPICS.items()}
    everyday = EVERYDAY.split()
    vocabulary = sorted(set(everyday).union(*own.values()))
    row = {word: place for place, word in enumerate(vocabulary)}
    topics = np.zeros((len(vocabulary), len(own)))
    topics[[row[word] for word in everyday]] = EVERYDAY_SHARE / len(everyday)
    for column, words in enumerate(own.values()):
        weights = 1.0 / np.arange(4, 4 + len(words))        # as in real text, some words are more frequent
        np.add.at(topics[:, column], [row[word] for word in words], (1 - EVERYDAY_SHARE) * weights / weights.sum())
    return tuple(vocabulary), topics


def _sentences(words: list[str], length: int = 11) -> str:
    starts = range(0, len(words), length)
    return " ".join(" ".join(words[start : start + length]).capitalize() + "." for start in starts)
