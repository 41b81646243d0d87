"""The page in a real browser: what people click, type and read."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.report import build_report
from spectral_spark.report.payload import observed_shares

pytestmark = pytest.mark.browser
Save = Callable[..., str]
HOSTILE = (
    "<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=1</script>", "\"'`${window.hacked=1}",
    "\u202eevil", "😀👨‍👩‍👧", "שלום עולם", "javascript:window.hacked=1", "&lt;b&gt;", "a" * 300, "",
)


class Page:
    """A report open in the browser."""

    def __init__(self, window: Any, path: Path) -> None:
        self.window, self.path, self.width = window, path, 0

    def open(self, width: int = 1280, height: int = 900, dark: bool = False, hash: str = "") -> "Page":
        from browser import set_screen

        self.width = width
        set_screen(self.window, width, height, dark)
        self.window.get("about:blank")
        self.window.get_log("browser")
        self.window.get(self.path.as_uri() + hash)
        self.wait("document.documentElement.dataset.ready")
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.window.execute_script(f"return {script}", *arguments)

    def wait(self, script: str, *arguments: Any) -> Any:
        for _ in range(100):
            if value := self.run(script, *arguments):
                return value
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    def text(self, selector: str) -> str:
        return str(self.run("document.querySelector(arguments[0]).innerText", selector))

    def click(self, selector: str, position: int = 0) -> None:
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, position)

    def type(self, selector: str, text: str) -> None:
        self.window.execute_script("""
            const field = document.querySelector(arguments[0]);
            field.focus();
            field.value = arguments[1];
            for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true}));
        """, selector, text)

    def slide(self, selector: str, value: float) -> None:
        self.type(selector, str(value))

    def too_wide(self) -> Any:
        """How far the page's content reaches beyond the screen, in pixels."""
        return self.run("document.documentElement.scrollWidth") - self.width

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.window.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def page(window: Any, saved: Save, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Build the report of a synthetic model, for opening; at the end the console must be silent."""
    made: list[Page] = []

    def make(**settings: Any) -> Page:
        target = tmp_path / "report.html"
        asked = settings.pop("answers", None)
        if asked is not None:
            (tmp_path / "answers.json").write_text(json.dumps(asked))
        build_report(saved(**settings), str(target), overwrite=True,
                     answers=str(tmp_path / "answers.json") if asked is not None else None)
        made.append(Page(window, target))
        return made[-1]

    yield make
    for one in made:
        assert one.complaints() == []


def first_words(page: Page) -> list[str]:
    words: list[str] = page.run("[...document.querySelectorAll('#topic-words tbody th')].map((e) => e.innerText)")
    return words


def column(page: Page, number: int) -> list[float]:
    cells = f"[...document.querySelectorAll('#topic-words td:nth-child({number})')]"
    numbers: list[float] = page.run(f"{cells}.map((e) => parseFloat(e.innerText))")
    return numbers


def test_topics_open_and_the_slider_changes_their_words(page: Callable[..., Page]) -> None:
    report = page(k=12).open()
    assert report.run("document.querySelectorAll('#topic-list button').length") == 12
    report.click("#topic-list button", 4)
    number = report.run("document.querySelectorAll('#topic-list button')[4].dataset.topic")
    report.wait("document.querySelector('#topic-detail .eyebrow').textContent === arguments[0]", f"Topic {number}")
    report.slide("#relevance", 1)
    shares = column(report, 3)
    assert shares == sorted(shares, reverse=True)
    frequent = first_words(report)
    report.slide("#relevance", 0)
    only_here = column(report, 4)
    assert only_here == sorted(only_here, reverse=True)
    assert first_words(report) != frequent
    assert report.text("#relevance-value") == "0.00"
    report.wait("document.querySelector('#announce').textContent.startsWith('Now first')")


def test_similar_topics_and_the_map_lead_to_topics(page: Callable[..., Page]) -> None:
    report = page(k=12).open()
    before = report.run("location.hash")
    report.click("#topic-detail .part .link")
    report.wait("location.hash !== arguments[0] && location.hash.startsWith('#topic-')", before)
    assert report.run("document.querySelectorAll('#topic-map circle').length") >= 12
    report.run("document.querySelector('#topic-map circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    largest = report.run("document.querySelector('#topic-list button').dataset.topic")
    report.wait("document.querySelector('#topic-detail .eyebrow').textContent === arguments[0]", f"Topic {largest}")
    report.window.back()
    report.wait("document.querySelector('#topic-detail .eyebrow').textContent !== arguments[0]", f"Topic {largest}")


def test_search_finds_the_topics_of_a_word(page: Callable[..., Page]) -> None:
    report = page(k=12).open()
    report.type("#word-search", "W25")
    assert "“w25”" in report.text("#word-result")
    assert report.text("#word-topics tbody th").startswith("1 ")          # word 25 was made for topic 25 mod 12
    report.type("#word-search", "w2")
    assert report.run("document.querySelectorAll('#word-suggestions option').length") == 20
    report.type("#word-search", "unheard-of")
    assert "does not know" in report.text("#word-result")
    report.type("#word-search", "")
    assert report.run("document.querySelector('#word-result').hidden")


def test_the_tree_can_be_walked(page: Callable[..., Page]) -> None:
    report = page().open()
    assert "Whole corpus" in report.text("#node-title")
    report.click("#children .link")
    report.wait("document.querySelector('#node-title').innerText.startsWith('g0-')")
    assert "What sets it apart from the whole corpus" in report.text("#node")
    assert "Effective sample size" in report.text("#node")
    report.click("#children .link")
    report.wait("document.querySelector('#node-title').innerText.startsWith('g1-')")
    assert report.run("document.querySelector('#children')") is None
    report.click("#node .crumbs .link")
    report.wait("document.querySelector('#node-title').innerText === 'Whole corpus'")
    report.type("#node-search", "g0-2 › g1-1")
    report.wait("document.querySelector('#node-title').innerText === 'g1-1'")


def test_differences_from_the_parent_are_right(page: Callable[..., Page], files: Callable[..., Any]) -> None:
    shares = observed_shares(files().nodes)
    report = page().open(hash="#node-3")
    moved = shares[3] - shares[0]
    first = report.text("#node .moves li")
    assert first.startswith(f"{moved.argmax()} ")
    assert f"{shares[3][moved.argmax()]:.0%} here" in first


def test_a_link_to_a_section_leads_there_whatever_was_drawn_above_it(page: Callable[..., Page]) -> None:
    report = page().open(hash="#compare", width=390)
    assert 0 <= report.run("document.getElementById('compare').getBoundingClientRect().top") < 120


def test_two_nodes_are_compared(page: Callable[..., Page], files: Callable[..., Any]) -> None:
    nodes = files().nodes
    shares = observed_shares(nodes)
    report = page().open()
    report.type("#compare-a", "g0-0")
    report.type("#compare-b", "g0-1 › g1-2")
    a, b = nodes.paths.index(("g0-0",)), nodes.paths.index(("g0-1", "g1-2"))
    gaps = shares[a] - shares[b]
    report.click("#compare-result summary")
    row = report.text("#compare-table tbody tr")
    assert row.startswith(f"{abs(gaps).argmax()} ")
    before = report.text("#compare-result p")
    report.click("#compare-swap")
    assert report.run("document.querySelector('#compare-a').value") == "g0-1 › g1-2"
    assert report.text("#compare-result p") == before
    report.type("#compare-b", "g0-1 › g1-2")
    assert "Distance 0.00" in report.text("#compare-result p")


def test_hostile_names_are_shown_and_do_nothing(page: Callable[..., Page]) -> None:
    words = HOSTILE + tuple(f"w{number}" for number in range(80 - len(HOSTILE)))
    paths = ((), *((name,) for name in HOSTILE), *((HOSTILE[0], name) for name in HOSTILE))
    summary = {"rank_reason": HOSTILE[0], "corpus": HOSTILE[1], "versions": {HOSTILE[0]: HOSTILE[1]},
               "passes": [{"name": HOSTILE[0], "seconds": 1, "documents": 2}], "spectrum": [1.0, 0.5]}
    changes = {"topics": [{"topic": 0, "previous": HOSTILE[0], "similarity": 0.4}], "drift": {HOSTILE[0]: 1.0},
               "new": [], "vanished": [HOSTILE[0]]}
    report = page(k=4, d=80, words=words, paths=paths, summary=summary, changes=changes).open(width=380)
    report.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    for topic in range(4):
        report.click(f"#topic-list button[data-topic='{topic}']")
    for text in HOSTILE:
        report.type("#word-search", text)
        report.type("#compare-a", text)
    report.type("#word-search", HOSTILE[0])
    assert HOSTILE[0] in report.text("#word-result")
    for node in range(len(paths)):
        report.run(f"(location.hash = 'node-{node}')")
    report.wait("document.querySelector('#node-title').innerText.length > 0")
    time.sleep(0.3)
    assert report.run("window.hacked === undefined && document.querySelectorAll('img').length === 0")
    assert report.too_wide() <= 0


def test_the_policy_stops_what_escaping_would_miss(page: Callable[..., Page]) -> None:
    report = page().open()
    report.window.execute_script("""
        document.body.insertAdjacentHTML('beforeend', '<img src="https://127.0.0.1:9/x" onerror="window.hacked=1">');
        document.body.appendChild(document.createElement('script')).textContent = 'window.hacked = 1';
    """)
    time.sleep(0.3)
    assert report.run("window.hacked === undefined")
    assert len([text for text in report.complaints() if "Content Security Policy" in text]) >= 2


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1280])
def test_it_fits_the_screen_light_and_dark(page: Callable[..., Page], width: int, dark: bool) -> None:
    moved = {"previous": 1, "similarity": 0.9, "weight_before": 0.1, "weight_after": 0.08}
    changes = {"topics": [{"topic": t, **moved} for t in range(9)], "new": [3], "vanished": [], "drift": {"mean": 0.1}}
    report = page(changes=changes).open(width=width, dark=dark)
    assert report.too_wide() <= 0
    report.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    report.wait("document.querySelector('#spectrum svg')")
    assert report.too_wide() <= 0
    assert contrast(report) > 4.5


def contrast(report: Page) -> float:
    """Smallest contrast (WCAG) between text and the background of cards, over the page's text colours."""
    colours = report.window.execute_script("""
        const probe = document.body.appendChild(document.createElement('i'));
        const all = ['card', 'page', 'ink', 'quiet', 'accent', 'b'].map((name) => {
            probe.style.color = `var(--${name})`;
            return getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number);
        });
        probe.remove();
        return all;
    """)

    def luminance(colour: list[float]) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    grounds, inks = [luminance(c) for c in colours[:2]], [luminance(c) for c in colours[2:]]
    return min((max(g, i) + 0.05) / (min(g, i) + 0.05) for g in grounds for i in inks)


def test_the_keyboard_reaches_everything(page: Callable[..., Page]) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    report = page().open()

    def press(*keys: str) -> None:
        ActionChains(report.window).send_keys(*keys).perform()

    press(Keys.TAB)
    assert report.run("document.activeElement.className") == "skip"
    outline = report.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    report.run("document.querySelector('#topic-order').focus()")
    press(Keys.TAB)
    assert report.run("document.activeElement.dataset.topic") == report.run(
        "document.querySelector('#topic-list [aria-current=true]').dataset.topic")
    press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    third = report.run("document.querySelectorAll('#topic-list button')[2].dataset.topic")
    report.wait("document.querySelector('#topic-detail .eyebrow').textContent === arguments[0]", f"Topic {third}")
    unnamed = report.window.execute_script("""
        const named = (e) => e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length;
        const all = [...document.querySelectorAll('button, input, select, summary, [role=img], [role=region]')];
        return all.filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80));
    """)
    assert unnamed == []
    for selector in ("main", "nav[aria-label]", "header", "footer", "#announce[aria-live=polite]", "html[lang]"):
        assert report.run("document.querySelector(arguments[0]) !== null", selector)


@pytest.mark.parametrize(("settings", "words"), [
    ({"k": 1, "d": 30, "widths": ()}, ["1 topic", "no groups", "Share of all words"]),
    ({"k": 2, "widths": (1,)}, ["All 2 topics", "1 group inside"]),
    ({"k": 300, "d": 2000, "widths": (3,)}, ["All 300 topics"]),
    ({"k": 5, "evaluated": False, "summary": {}}, ["not evaluated", "All 5 topics"]),
])
def test_unusual_models(page: Callable[..., Page], settings: dict[str, Any], words: list[str]) -> None:
    for width in (380, 1280):
        report = page(**settings).open(width=width)
        text = report.run("document.body.innerText")
        assert all(part in text for part in words)
        assert not any(wrong in text for wrong in ("NaN", "undefined", "Infinity", "[object"))
        assert report.too_wide() <= 0


def test_five_thousand_nodes(page: Callable[..., Page]) -> None:
    report = page(k=50, d=500, widths=(10, 499)).open()
    report.click("#children .link")
    report.wait("document.querySelector('#node-title').innerText.startsWith('g0-')")
    assert report.run("document.querySelectorAll('#children tbody tr').length") == 25
    report.click("#more-children")
    assert report.run("document.querySelectorAll('#children tbody tr').length") == 125
    report.type("#node-search", "g0-7 › g1-498")
    report.wait("document.querySelector('#node-title').innerText === 'g1-498'")
    assert report.run("document.querySelectorAll('*').length") < 6000


def test_it_loads_in_under_a_second(page: Callable[..., Page], record_property: Callable[..., None]) -> None:
    report = page(k=100, d=10_000, widths=(20, 24))
    seconds = []
    for _ in range(3):
        report.window.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        report.open()
        metrics = report.window.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        seconds.append(next(item["value"] for item in metrics if item["name"] == "TaskDuration"))
        report.window.execute_cdp_cmd("Performance.disable", {})
    record_property("wall_milliseconds", report.run("document.documentElement.dataset.ready"))
    assert 0 < min(seconds) < 1.0, seconds                # processor time: other work shares this machine


def test_it_prints_with_everything_unfolded(page: Callable[..., Page]) -> None:
    report = page().open()
    report.run("window.dispatchEvent(new Event('beforeprint'))")
    assert report.run("document.querySelector('#hood-fold').open && document.querySelector('#spectrum svg') !== null")
    printed = report.window.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    report.run("window.dispatchEvent(new Event('afterprint'))")
    assert not report.run("document.querySelector('#hood-fold').open")


def test_an_update_shows_what_moved(page: Callable[..., Page]) -> None:
    matched = [
        {"topic": t, "previous": 11 - t, "similarity": 0.5 + t / 30, "weight_before": 0.05, "weight_after": 0.06}
        for t in range(11)
    ]
    matched.append({"topic": 11, "previous": None, "similarity": 0.0, "weight_before": 0.0, "weight_after": 0.02})
    drift = {"unseen_share": 0.061, "loss": 7.1, "loss_before": None, "warnings": ["6% of <b>words</b>"]}
    changes = {"topics": matched, "new": [11], "vanished": [0], "drift": drift, "documents_before": 9000,
               "documents_after": 12000}
    report = page(k=12, changes=changes).open()
    text = report.text("#changes")
    assert "2 of 11 topics kept at least 80% of their words" in text
    assert "New topics: 11" in text
    assert "From 9,000 to 12,000 documents" in text
    assert "6% of <b>words</b>" in text
    assert "6.1%" in text
    assert report.run("document.querySelectorAll('#change-table tbody tr').length") == 11
    assert "+1.0" in report.text("#change-table tbody tr")


def test_topics_by_group_are_a_table_of_a_chosen_level(page: Callable[..., Page]) -> None:
    report = page(k=40, d=2000, widths=(4, 3)).open()
    headings = "document.querySelectorAll('.heatmap thead th').length"
    choose = "((s) => { s.value = arguments[0]; s.dispatchEvent(new Event('change')); })" \
             "(document.querySelector('#heat-level'))"
    report.run(choose, "1")
    assert report.run(headings) == 1 + 4
    assert report.run("document.querySelectorAll('.heatmap tbody tr').length") == 30
    report.click("#heat button.screen-only")
    assert report.run("document.querySelectorAll('.heatmap tbody tr').length") == 40
    report.run(choose, "2")
    assert report.run(headings) == 1 + 12


def test_homes_are_of_one_level_and_say_how_many_documents(page: Callable[..., Page]) -> None:
    report = page(k=12, widths=(4, 3)).open()
    names = "[...document.querySelectorAll('#topic-detail .part:last-child tbody th')].map((e) => e.textContent)"
    choose = "((s) => { s.value = arguments[0]; s.dispatchEvent(new Event('change')); })" \
             "(document.querySelector('#home-level'))"
    for level in (1, 2):
        report.run(choose, str(level))
        found = report.run(names)
        assert found
        assert all(name.count("›") == level - 1 for name in found)


def test_circles_of_many_topics_do_not_pile_up_and_few_are_named(page: Callable[..., Page]) -> None:
    report = page(k=100, d=2000).open()
    report.wait("document.querySelectorAll('#topic-map g.hot circle').length === 100")
    overlapping = report.run("""(() => {
        const c = [...document.querySelectorAll('#topic-map g.hot circle')].map((e) =>
            [Number(e.getAttribute('cx')), Number(e.getAttribute('cy')), Number(e.getAttribute('r'))]);
        let n = 0;
        for (let i = 0; i < c.length; i++) for (let j = 0; j < i; j++)
            n += Math.hypot(c[i][0] - c[j][0], c[i][1] - c[j][1]) < 0.7 * (c[i][2] + c[j][2]);
        return n;
    })()""")
    assert overlapping <= 10
    assert report.run("new Set([...document.querySelectorAll('#topic-map g.hot circle')]"
                      ".map((e) => e.getAttribute('fill'))).size") > 2
    names = "document.querySelectorAll('#topic-map text').length"
    few = report.run(names)
    report.click("#map-labels")
    assert report.run(names) > few


def test_words_are_not_cut_in_two_on_a_phone(page: Callable[..., Page]) -> None:
    words = tuple(f"{name}{number}" for number, name in enumerate(["electronics", "kitchen", "performances"] * 40))
    report = page(k=4, d=120, words=words).open(width=390)
    cut = report.run("""[...document.querySelectorAll('#topic-words bdi, #topic-list .name bdi')]
        .filter((e) => e.offsetParent !== null && e.getClientRects().length > 1).length""")
    assert cut == 0
    assert report.too_wide() <= 0


@pytest.fixture
def answered(page: Callable[..., Page], files: Callable[..., Any]) -> tuple[Page, dict[str, Any]]:
    """A page with answers about documents, and the answers."""
    from tests.report.conftest import drawn_answers

    asked = drawn_answers(files(k=12))
    return page(k=12, answers=asked), asked


def test_answers_show_intervals_exemplars_and_columns(answered: tuple[Page, dict[str, Any]]) -> None:
    page, asked = answered
    report = page.open(hash="#node-1")
    report.wait("document.querySelector('#node-title')")
    best = max(range(12), key=lambda topic: asked["nodes"][1]["shares"][topic])
    low, high = (asked["nodes"][1][end][best] for end in ("lower", "upper"))
    shown = report.run("document.querySelector('#node .range').textContent")
    assert [float(part.rstrip("%")) for part in shown.split(" to ")] == pytest.approx([100 * low, 100 * high], abs=0.6)
    assert report.run("document.querySelectorAll('#node .bars .bar u').length") == 10
    assert "mail-" in report.text("#topic-detail")
    assert report.run("document.querySelectorAll('#column-chart path').length") >= 10
    lines = "document.querySelectorAll('.line-key li').length"
    before = report.run(lines)
    report.click(".line-key button[aria-label]")
    assert report.run(lines) == before - 1


def test_the_picture_of_the_tree_opens_groups(answered: tuple[Page, dict[str, Any]]) -> None:
    report = answered[0].open()
    boxes = "document.querySelectorAll('#icicle rect')"
    assert report.run(f"{boxes}.length") == 17
    widths = report.run(f"[...{boxes}].slice(1, 5).map((box) => box.width.baseVal.value)")
    assert all(0 < width < report.width for width in widths)
    report.run("document.querySelectorAll('#icicle g')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    report.wait("location.hash.startsWith('#node-')")
    assert report.run("document.querySelectorAll('#node .multiple').length") == 3


def test_a_link_restores_a_view(answered: tuple[Page, dict[str, Any]]) -> None:
    view = "#view?topic=3&node=2&lambda=0.2&order=number&compare=2,4&level=2&column=0&lines=7,1&word=w5&at=compare"
    report = answered[0].open(hash=view)
    report.wait("document.querySelector('#topic-detail .eyebrow').textContent === 'Topic 3'")
    assert report.text("#relevance-value") == "0.20"
    report.click("#copy-view")
    copied = report.run("Object.fromEntries(new URLSearchParams(location.hash.slice(6)))")
    expected = {"topic": "3", "node": "2", "lambda": "0.2", "order": "number", "compare": "2,4", "level": "2",
                "column": "0", "lines": "7,1", "word": "w5"}
    assert {name: copied[name] for name in expected} == expected
    hostile = answered[0].open(hash="#view?topic=999&node=-1&lambda=x&order=<b>&compare=a,b&lines=1e9&word=<img>&at=zz")
    assert hostile.run("document.querySelectorAll('#topic-words tbody tr').length") > 0


def test_every_table_is_saved_as_csv(answered: tuple[Page, dict[str, Any]]) -> None:
    report = answered[0].open()
    missing = "[...document.querySelectorAll('main table')].filter((one) => !one.tFoot).length"
    assert report.run(missing) == 0
    report.window.execute_script("""
        window.saved = [];
        URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return '#'; };
    """)
    buttons = report.run("[...document.querySelectorAll('#files button')].map((one) => one.textContent)")
    assert buttons == ["topics.csv", "words.csv", "groups.csv", "exemplars.csv", "by-month.csv"]
    report.click("#files button", 2)
    text = report.wait("window.saved.find((text) => text.includes('share_of_documents'))")
    rows = [line.split(",") for line in text.lstrip("\ufeff").strip().split("\r\n")]
    assert len(rows) == 1 + 17 * 12
    first = answered[1]["nodes"][0]
    assert [float(row[4]) for row in rows[1:13]] == pytest.approx(first["shares"], abs=1e-5)
    report.click("#files button", 3)
    text = report.wait("window.saved.find((text) => text.includes('rank'))")
    assert ",'=mail-0," in text, "a spreadsheet would run a cell that starts with ="
