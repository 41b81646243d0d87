"""The file that frequent lines are written to: it takes the place of nothing but an earlier file of such lines."""

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import exists, replace_file, resolve
from spectral_spark.files.overwriting import output_around
from spectral_spark.files.paths import dangling_link, relation
from spectral_spark.ingest.ingest_settings import IngestSettings

_HEADER = ("# Lines that stand in many documents: documents, groups, line. Delete the lines that should stay in the\n"
           "# texts, and give this file to ingest --drop-lines.\n")


def check_boilerplate_file(settings: IngestSettings) -> None:
    """Refuse, before anything is read, a place for the lines where something is that must stay."""
    path = settings.find_boilerplate
    if path is None:
        return
    shown = f"`find_boilerplate` '{path}'"
    for name, other in (("input", settings.input), ("output", settings.output)):
        if how := relation(path, other):
            raise InputError(f"{shown} {how} the {name} '{other}'; choose another path")
    if around := output_around(path):
        raise InputError(f"{shown} lies inside {around}, which is complete and is not written into; choose another "
                         "path")
    if missing := dangling_link(path):
        raise InputError(f"{shown} is a symbolic link to '{missing}', where there is nothing; give another path")
    if exists(path) and not (settings.overwrite and _is_ours(path)):
        allow = "or pass --overwrite" if _is_ours(path) else "or remove it yourself: it is not a file of such lines"
        raise InputError(f"{shown} exists; choose another path, {allow}")


def write_boilerplate_file(path: str, lines: list[str]) -> None:
    """Write the lines; where the file system can, for their owner's eyes only."""
    text = _HEADER + "".join(f"{line}\n" for line in lines)
    try:
        replace_file(path, text.encode(), private=True)
    except OSError as error:
        raise SettingsError(f"`find_boilerplate` '{path}' cannot be written ({error})") from None


def _is_ours(path: str) -> bool:
    filesystem, inside = resolve(path)
    if not filesystem.get_file_info(inside).is_file:
        return False
    with filesystem.open_input_stream(inside, compression=None) as source:
        return bool(source.read(len(_HEADER.encode())) == _HEADER.encode())
