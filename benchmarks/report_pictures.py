"""The documentation's pictures: what report pages look like, taken by a headless browser (see browser.py).

    python benchmarks/report_pictures.py                     # from out/demo, out/enron, … to docs/pictures
    python benchmarks/report_pictures.py --runs out demo     # only the demo's
"""

import argparse
import base64
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from browser import NoBrowser, find_browser, open_browser, set_screen

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_COLOURS = 200               # a page of few colours: a palette makes the file a third of the size
_OUTPUT = Path(__file__).parents[1] / "docs" / "pictures"


@dataclass(frozen=True)
class Picture:
    """One picture: of which run, from which section downwards, how large, light or dark."""

    name: str
    run: str
    part: str
    width: int = 1200
    height: int = 1000
    dark: bool = False


PICTURES = (
    Picture("demo", "demo", "", height=1150),
    Picture("demo-phone", "demo", "topics", width=390, height=1050),
    Picture("enron", "enron", "topics", height=1050),
    Picture("enron-tree", "enron", "node-1", height=1050),
    Picture("amazon", "amazon", "compare", height=820, dark=True),
    Picture("histories", "histories", "topics", width=1400, height=1050),
)


def take_picture(window: "Chrome", page: Path, picture: Picture) -> bytes:
    """A PNG of a page, with a small palette."""
    from PIL import Image

    set_screen(window, picture.width, picture.height, picture.dark)
    window.get("about:blank")                       # otherwise the same page would only scroll, smoothly
    window.get(page.resolve().as_uri() + f"#{picture.part}")
    window.set_script_timeout(20)
    window.execute_async_script("document.fonts.ready.then(() => setTimeout(arguments[0], 800))")
    shot = window.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    small = io.BytesIO()
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="RUN", help="demo, enron, amazon, histories (default: those there)")
    parser.add_argument("--runs", type=Path, default=Path("out"), help="folder of the runs: RUNS/demo/report.html …")
    parser.add_argument("--output", type=Path, default=_OUTPUT, help="folder of the pictures")
    settings = parser.parse_args()
    pages = {picture: settings.runs / picture.run / "report.html" for picture in PICTURES}
    wanted = [picture for picture in PICTURES
              if (picture.run in settings.names if settings.names else pages[picture].is_file())]
    missing = sorted({str(pages[picture]) for picture in wanted if not pages[picture].is_file()})
    if missing or not wanted:
        print(f"no report at {', '.join(missing) or f'{settings.runs}/*/report.html'}; make it first", file=sys.stderr)
        return 2
    settings.output.mkdir(parents=True, exist_ok=True)
    try:
        with open_browser(find_browser()) as window:
            for picture in wanted:
                target = settings.output / f"{picture.name}.png"
                target.write_bytes(take_picture(window, pages[picture], picture))
                print(f"{target}: {target.stat().st_size / 1024:.0f} KiB")
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
