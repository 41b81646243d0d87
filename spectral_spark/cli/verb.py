"""A verb of the command line, and where the verbs are found: every module of ``cli.verbs`` is one."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from spectral_spark.cli.flags import Flag, spark_setting

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

ORDER = (
    "demo", "ingest", "fit", "topics", "labels", "taxonomy", "edit", "infer", "score", "exemplars", "compare",
    "explain", "answers", "evaluate", "choose", "update", "report", "basis", "ibp",
)

COMMON = (
    Flag("config", "settings of this run, a TOML file with a table per verb; flags win over it", metavar="FILE.toml"),
    Flag("dry-run", "check the settings and inputs, say what would be done, and stop", switch=True,
         aliases=("plan", "check", "dryrun")),
    Flag("master", "where to run: local[2], spark://host:7077, yarn, …; by default spark-submit's, or all cores of "
         "this machine", metavar="URL"),
    Flag("spark-conf", "one Spark setting, as spark.executor.memory=4g; may be repeated", read=spark_setting,
         metavar="KEY=VALUE", repeated=True),
    Flag("quiet", "print errors only", switch=True),
    Flag("debug", "show the traceback of an unexpected error, and Spark's log", switch=True, aliases=("verbose", "v")),
)
OVERWRITE = Flag("overwrite", "replace the output if it exists", switch=True, aliases=("force", "replace"))


@dataclass(frozen=True)
class Verb:
    """One thing the command line does.

    Attributes
    ----------
    name, summary : the word on the command line and one line about it.
    description : what ``--help`` teaches.
    example : a command that works as it stands once its files are there.
    flags : the verb's own flags.
    plan : checks settings and inputs without starting Spark, and returns what would be done, line by line.
    run : does it.
    positional : the flag whose value may be given without its name, if any.
    """

    name: str
    summary: str
    description: str
    example: str
    flags: tuple[Flag, ...]
    plan: Callable[[Namespace], list[str]]
    run: Callable[["CommandRun", Namespace], None]
    positional: str = ""

    @property
    def all_flags(self) -> tuple[Flag, ...]:
        return self.flags + COMMON

    def flag(self, name: str) -> Flag | None:
        """The flag of that name; underscores are as good as dashes."""
        wanted = name.replace("_", "-")
        return next((flag for flag in self.all_flags if flag.name == wanted), None)


class Verbs(Mapping[str, Verb]):
    """All verbs by name, in the order of the help text. A verb is imported when it is looked at."""

    def __init__(self) -> None:
        self._package = import_module("spectral_spark.cli.verbs")
        rank = {name: place for place, name in enumerate(ORDER)}
        found = (module.name for module in iter_modules(self._package.__path__))
        self._names = sorted(found, key=lambda name: (rank.get(name, len(rank)), name))

    def __getitem__(self, name: str) -> Verb:
        if name not in self._names:
            raise KeyError(name)
        verb: Verb = import_module(f"{self._package.__name__}.{name}").VERB
        return verb

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def verbs() -> Verbs:
    """All verbs: every module of ``cli.verbs`` is one, and has its name."""
    return Verbs()
