"""Parses ``argv`` into checked settings. Flags override the configuration; for typos, the nearest name is suggested."""

import argparse
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from spectral_spark.cli.config import Config, read_config
from spectral_spark.cli.flags import Flag, nearest, nearest_flag
from spectral_spark.cli.verb import COMMON, Verb, verbs
from spectral_spark.errors import SettingsError
from spectral_spark.version import __version__

PROGRAM = "spectral-spark"


@dataclass(frozen=True)
class Request:
    """A verb with its settings; ``spark`` holds the configuration file's Spark settings."""

    verb: Verb
    settings: Namespace
    spark: Mapping[str, str] = field(default_factory=dict)


class _Parser(argparse.ArgumentParser):
    """Raises errors instead of exiting, so that all errors are reported in the same way."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(re.sub(r"^argument (--\S+): expected one argument$", r"\1 needs a value", message))


def parse(argv: Sequence[str]) -> Request | str:
    """The request in ``argv``, or the text of a help page that was asked for."""
    known = verbs()
    if not argv or argv[0] in ("-h", "--help", "help"):
        return overview(known)
    if argv[0] == "--version":
        return f"{PROGRAM} {__version__}\n"
    if argv[0] not in known:
        what = f"unknown {'flag' if argv[0].startswith('-') else 'verb'} '{argv[0]}'"
        raise SettingsError(f"{what}{nearest(argv[0], known) or '; verbs: ' + ', '.join(known)}")
    verb = known[argv[0]]
    if any(word in ("-h", "--help") for word in argv[1:]):
        return help_page(verb)
    given = _given(verb, argv[1:])
    config = read_config(given["config"], known) if "config" in given else Config()
    return Request(verb, _settings(verb, config.settings.get(verb.name, {}), given), config.spark)


def overview(known: Mapping[str, Verb]) -> str:
    """The page of ``spectral-spark --help``."""
    width = max(map(len, known))
    lines = "".join(f"  {verb.name:<{width}}  {verb.summary}\n" for verb in known.values())
    return (
        f"usage: {PROGRAM} VERB [flags]\n\n"
        "Topic models for corpora with a document tree, on Spark, in about a dozen passes.\n\n"
        f"{lines}\n"
        f"'{PROGRAM} VERB --help' explains a verb, with an example. 'spark-submit jobs/VERB.py' takes the same flags.\n"
    )


def help_page(verb: Verb) -> str:
    """The page of ``spectral-spark VERB --help``."""
    return _parser(verb).format_help()


def _positional(verb: Verb) -> str:
    """The word that may be given without a flag's name, as the first line of a help page shows it."""
    flag = verb.flag(verb.positional) if verb.positional else None
    return f" {flag.shown_value}" if flag else ""


def _parser(verb: Verb) -> _Parser:
    parser = _Parser(
        prog=f"{PROGRAM} {verb.name}",
        usage=f"{PROGRAM} {verb.name}{_positional(verb)} [flags]",
        add_help=False,
        description=verb.description,
        epilog=f"example:\n  {verb.example}\n",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=100),
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    for title, flags in (
        ("settings", [flag for flag in verb.flags if not flag.expert]),
        ("expert settings (the defaults are almost always right)", [flag for flag in verb.flags if flag.expert]),
        ("running", COMMON),
    ):
        if flags:
            group = parser.add_argument_group(title)
            for flag in flags:
                _add(group, flag)
    return parser


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    text = flag.sentence.replace("%", "%%")
    if flag.switch:
        group.add_argument(f"--{flag.name}", dest=flag.attribute, action="store_true", help=text)
        return
    action = "append" if flag.repeated else "store"
    group.add_argument(f"--{flag.name}", dest=flag.attribute, metavar=flag.shown_value, action=action, help=text)


def _given(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """Raw values of the flags on the command line, by attribute name."""
    known, unknown = _parser(verb).parse_known_args(list(words))
    if verb.positional and len(unknown) == 1 and not unknown[0].startswith("-") and verb.positional not in known:
        setattr(known, verb.positional, unknown.pop())
    if unknown:
        first = len(unknown) > 1 and verb.positional is not None and verb.positional not in known
        word = next((word for word in unknown if word.startswith("-")), unknown[1 if first else 0])
        if not word.startswith("-"):
            raise SettingsError(f"unexpected argument '{word}'; '{PROGRAM} {verb.name} --help' lists the flags")
        name = word.partition("=")[0]
        hint = nearest_flag(name, verb.all_flags) or f"; '{PROGRAM} {verb.name} --help' lists the flags"
        raise SettingsError(f"unknown flag '{name}' for {verb.name}{hint}")
    return vars(known)


def _settings(verb: Verb, configured: Mapping[str, Any], given: Mapping[str, Any]) -> Namespace:
    values: dict[str, Any] = {}
    for flag in verb.all_flags:
        if flag.attribute in given:
            values[flag.attribute] = flag.value(given[flag.attribute], f"--{flag.name}")
        else:
            nothing = False if flag.switch else () if flag.repeated else None
            values[flag.attribute] = configured.get(flag.attribute, nothing)
    missing = [f"--{flag.name}" for flag in verb.flags if flag.required and values[flag.attribute] in (None, "")]
    if missing:
        raise SettingsError(f"{verb.name} needs {' and '.join(missing)}, as a flag or in the file given to --config")
    return Namespace(**values)
