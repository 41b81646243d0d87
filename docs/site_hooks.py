"""Hooks of the site: notebooks and pages outside docs/, and links that work in the repository and in the site alike.

Links are written as paths in the repository. In the site, the contents of docs/ are at the top, the files named below
are at the path that they have in the repository, and a notebook is a page.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

REPOSITORY = Path(__file__).parents[1]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/*.md", "benchmarks/results/*.md", "benchmarks/results/*.png")
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that live outside docs/, and the notebooks as pages."""
    for pattern in OUTSIDE:
        for path in sorted(REPOSITORY.glob(pattern)):
            files.append(File.generated(config, path.relative_to(REPOSITORY).as_posix(), abs_src_path=str(path)))
    for path in sorted((REPOSITORY / "docs").glob("notebooks/*.ipynb")):
        for place, content in notebook_page(path).items():
            files.append(File.generated(config, f"notebooks/{place}", content=content))
    return files


def notebook_page(path: Path) -> dict[str, str | bytes]:
    """A notebook as a Markdown page and the pictures in it, by file name."""
    page, resources = MarkdownExporter().from_filename(str(path))
    pictures = {f"{path.stem}-{name}": content for name, content in resources["outputs"].items()}
    for name in resources["outputs"]:
        page = page.replace(f"({name})", f"({path.stem}-{name})")
    return {f"{path.stem}.md": page, **pictures}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between places in the repository into links between places in the site."""
    here = page.file.src_uri
    source = here if (REPOSITORY / here).is_file() else f"docs/{here}"
    return _LINK.sub(lambda link: link[1] + site_link(source, link[2]) + (link[3] or "") + link[4], markdown)


def site_link(source: str, target: str) -> str:
    """The link from one file to another, both given as in the repository, as it is in the site."""
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return posixpath.relpath(_in_site(wanted), posixpath.dirname(_in_site(source)) or ".")


def _in_site(path: str) -> str:
    return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
