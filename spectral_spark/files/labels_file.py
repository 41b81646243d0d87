"""``labels.toml`` of a model: names that people gave to topics, in a file that they edit.

The file lies in the model's directory beside the files that the manifest lists, and is not one of them: it may be
edited, replaced or removed at any time. A label is shown as plain text; it is one line of at most 200 characters.
"""

from collections.abc import Mapping
from typing import Any

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.directories import read_file
from spectral_spark.files.toml import parse_toml
from spectral_spark.plain_text import shortened

LABELS_TOML = "labels.toml"
LONGEST_LABEL = 200
LARGEST_LABELS = 16 << 20
_MOST_DIGITS = 9
_HEADING = """\
# Names of the topics. Edit the text between the quotation marks; every output then shows it.
# A topic without a line, or with an empty text, is named after its most distinctive words.
"""


def read_labels(filesystem: fs.FileSystem, directory: str, k: int) -> dict[int, str]:
    """The labels in a model's directory; none if it has no ``labels.toml``."""
    where = f"{directory}/{LABELS_TOML}"
    info = filesystem.get_file_info(where)
    if info.type == fs.FileType.NotFound:
        return {}
    if info.type != fs.FileType.File or (info.size or 0) > LARGEST_LABELS:
        raise InputError(f"'{where}' is not a file of labels; remove it")
    return parse_labels(read_file(filesystem, where), where, k)


def parse_labels(data: bytes, where: str, k: int) -> dict[int, str]:
    """The labels that a file gives, checked; ``where`` names the file in errors."""
    try:
        content = parse_toml(data)
    except ValueError as error:
        raise InputError(f"'{where}' {error}") from None
    topics = content.pop("topics", {})
    if content or not isinstance(topics, dict):
        other = shortened(next(iter(content), "topics"))
        raise InputError(f"'{where}' has '{other}'; it may only have a table [topics] with lines like 3 = \"a name\"")
    return checked_labels(topics, k, f"'{where}'")


def checked_labels(labels: Mapping[Any, Any], k: int, where: str = "the labels") -> dict[int, str]:
    """Topic number → label, without empty ones.

    Parameters
    ----------
    labels : numbers of topics, as whole numbers or text, with their labels.
    k : number of topics.
    where : names the origin in errors.
    """
    found: dict[int, str] = {}
    seen: set[int] = set()
    for key, label in labels.items():
        topic = _topic_number(key, k)
        if topic is None:
            raise InputError(f"{where}: there is no topic '{shortened(str(key))}'; the model has topics 0 to {k - 1}")
        if topic in seen:
            raise InputError(f"{where}: topic {topic} has two labels; give one")
        seen.add(topic)
        if not isinstance(label, str):
            raise InputError(f"{where}: the label of topic {topic} is {shortened(repr(label))}; give a text in "
                             "quotation marks")
        line = " ".join(label.split())
        if len(line) > LONGEST_LABEL:
            raise InputError(f"{where}: the label of topic {topic} has {len(line)} characters; give at most "
                             f"{LONGEST_LABEL}")
        if any("\ud800" <= letter <= "\udfff" for letter in line):
            raise InputError(f"{where}: the label of topic {topic} has half of a character, which no file can hold")
        if line:
            found[topic] = line
    return dict(sorted(found.items()))


def _topic_number(key: Any, k: int) -> int | None:
    """The number of a topic that a key stands for; None if there is no such topic."""
    text = str(key).strip()
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) >= k:
        return None
    return int(text)


def labels_text(labels: Mapping[int, str], hints: Mapping[int, str] | None = None) -> str:
    """``labels.toml`` with these labels; ``hints`` are remarks for the lines of topics, such as their words."""
    lines = [_HEADING, "[topics]"]
    for topic in sorted(hints or labels):
        remark = f"  # {_one_line(hints[topic])}" if hints else ""
        lines.append(f"{topic} = {_quoted(labels.get(topic, ''))}{remark}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = (
        f"\\{letter}" if letter in '"\\' else f"\\U{ord(letter):08X}" if not letter.isprintable() else letter
        for letter in text
    )
    return f'"{"".join(escaped)}"'


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
