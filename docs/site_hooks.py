"""Hooks of the site: pages that live outside docs/, and links that work in the repository and in the site alike.

Links are written as paths in the repository. In the site, the contents of docs/ are at the top, and the files below are at
the path that they have in the repository.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).parents[1]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/*.md", "benchmarks/results/*.md", "benchmarks/results/*.png")
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that live outside docs/."""
    for pattern in OUTSIDE:
        for path in sorted(REPOSITORY.glob(pattern)):
            files.append(File.generated(config, path.relative_to(REPOSITORY).as_posix(), abs_src_path=str(path)))
    return files


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
    return path.removeprefix("docs/")
