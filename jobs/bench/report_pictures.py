"""The README's pictures: what report pages look like, taken by a headless browser.

    python jobs/bench/report_pictures.py --report out/demo/report.html --output jobs/pictures/demo.png
    python jobs/bench/report_pictures.py --report out/enron.html --output jobs/pictures/enron.png --part tree --dark
"""

import argparse
import base64
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from browser import NoBrowser, find_browser, open_browser, set_screen

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_COLOURS = 96                # a page of few colours: a palette makes the file a quarter of the size


def take_picture(window: "Chrome", page: Path, part: str, width: int, height: int, dark: bool) -> bytes:
    """A PNG of the page from the top of one of its sections."""
    from PIL import Image

    set_screen(window, width, height, dark)
    window.get(page.resolve().as_uri() + ("" if part == "top" else f"#{part}"))
    window.set_script_timeout(10)
    window.execute_async_script("document.fonts.ready.then(() => setTimeout(arguments[0], 500))")
    shot = window.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    small = io.BytesIO()
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, required=True, help="a page made by the verb 'report'")
    parser.add_argument("--output", type=Path, required=True, help="the PNG to write")
    parser.add_argument("--part", default="top", help="section to show: top, topics, tree, compare (default top)")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1300)
    parser.add_argument("--dark", action="store_true")
    settings = parser.parse_args()
    if not settings.report.is_file():
        print(f"there is no report at '{settings.report}'", file=sys.stderr)
        return 2
    try:
        with open_browser(find_browser()) as window:
            data = take_picture(
                window, settings.report, settings.part, settings.width, settings.height, settings.dark
            )
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return 2
    settings.output.parent.mkdir(parents=True, exist_ok=True)
    settings.output.write_bytes(data)
    print(f"{settings.output}: {len(data) / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
