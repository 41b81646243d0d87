"""How an ingest makes words from text: its settings, and what the vocabulary that it is given remembers."""

from dataclasses import replace

from pyarrow import fs

from spectral_spark.errors import FormatError, SettingsError
from spectral_spark.files.directories import resolve
from spectral_spark.files.safe_reading import parse_json
from spectral_spark.ingest.corpus_manifest import CORPUS_JSON, read_manifest
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.text.dropped_lines import load_lines
from spectral_spark.text.language_tokeniser import LanguageTokeniser, load_tokeniser
from spectral_spark.text.languages import language_codes
from spectral_spark.text.text_recipe import TEXT_JSON, TextRecipe
from spectral_spark.text.tokeniser import load_stop_words

_LARGEST_RECIPE = 256 << 20


def ingest_recipe(settings: IngestSettings) -> TextRecipe:
    """How text becomes words. Phrases that are still to be found are not in it.

    A given vocabulary brings its phrases, languages, lemmas and dropped lines along: words that are made in another
    way would not be found in it.
    """
    recipe = TextRecipe(
        tuple(sorted(load_stop_words(settings.stop_word_lists))), settings.min_word_length,
        language_codes(settings.language), settings.lemmas, settings.tokeniser,
        dropped_lines=load_lines(settings.drop_lines) if settings.drop_lines else (),
    )
    known = saved_recipe(settings.vocabulary) if settings.vocabulary else None
    if known is not None:
        recipe = _as_known(recipe, known, settings)
    if recipe.tokeniser_name is not None:
        recipe = recipe.using(load_tokeniser(recipe.tokeniser_name))
    if isinstance(recipe.tokeniser, LanguageTokeniser):
        recipe.tokeniser.prepare()
    return recipe


def _as_known(recipe: TextRecipe, known: TextRecipe, settings: IngestSettings) -> TextRecipe:
    if known.tokeniser_name is not None and settings.tokeniser is None:
        raise SettingsError(
            f"the words of '{settings.vocabulary}' were made by the tokeniser '{known.tokeniser_name}'; it is not run "
            f"unless you name it again: --tokeniser {known.tokeniser_name}"
        )
    languages, lines = recipe.languages or known.languages, recipe.dropped_lines or known.dropped_lines
    stop_words = recipe.stop_words if settings.stop_words is not None or settings.language else known.stop_words
    return replace(recipe, stop_words=stop_words if known.languages else recipe.stop_words, languages=languages,
                   lemmas=recipe.lemmas or known.lemmas, phrases=known.phrases, dropped_lines=lines)


def saved_recipe(path: str) -> TextRecipe | None:
    """How the words of a model or corpus were made, if that was more than dropping stop words; else None."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(f"{inside}/{CORPUS_JSON}").type == fs.FileType.File:
        values = read_manifest(path).get("text")
        return None if values is None else TextRecipe.from_dict(values, f"{path}/{CORPUS_JSON}")
    info = filesystem.get_file_info(f"{inside}/{TEXT_JSON}")
    if info.type != fs.FileType.File:
        return None
    if info.size > _LARGEST_RECIPE:
        raise FormatError(f"'{path}/{TEXT_JSON}' has {info.size:,} bytes, more than any model needs; it is damaged")
    with filesystem.open_input_stream(f"{inside}/{TEXT_JSON}", compression=None) as source:
        return TextRecipe.from_dict(parse_json(source.read(), f"{path}/{TEXT_JSON}"), f"{path}/{TEXT_JSON}")
