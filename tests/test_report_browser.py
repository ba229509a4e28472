"""Reports in a real browser, from a file: what the reader sees, presses and takes away."""

import base64
import csv
import io
import json
import os
import shutil
import time

import numpy as np
import pytest
from matplotlib.image import imread

from tensift import (
    Constraints,
    GeometrySelector,
    PaperSolver,
    STPCASelector,
    compare_selectors,
    stability_selection,
)
from tensift.cli import main
from tensift.datasets import TensorDataset, load_digits, make_orbit
from tensift.plotting import rule_in_words
from tensift.report import Source, make_alternatives, write_report
from tensift.rivals import VarianceSelector
from tensift.selection import suggest_count

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: tensift[test]")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
DIGITS = load_digits()
FIRST = DIGITS.data[:60]
SOME = TensorDataset(FIRST, labels=DIGITS.labels[:60], name="Some digits", dims=DIGITS.dims)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """Chromium and its driver as the system has them; nothing is ever downloaded."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    chromedriver = shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        reason = "needs chromium and chromedriver: apt-get install chromium chromium-driver"
        # Where a browser is promised, its absence is a failure.
        (pytest.fail if os.environ.get("TENSIFT_BROWSER") == "required" else pytest.skip)(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--window-size=1200,900", f"--user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=chromedriver)
    chrome = webdriver.Chrome(options=options, service=service)
    yield chrome
    chrome.quit()


class Page:
    """An open report."""

    def __init__(self, driver, path, *, dark=False, width=1200):
        self.driver = driver
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for log in ("browser", "performance"):
            driver.get_log(log)
        driver.get(path.as_uri())
        self.settle()

    def __getitem__(self, identity):
        return self.driver.find_element(By.ID, identity)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Wait until what was asked for is drawn, and in the table too."""
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120);"
        )

    def wait_for(self, identity, text, seconds=10):
        deadline = time.monotonic() + seconds
        while self[identity].text != text and time.monotonic() < deadline:
            self.settle()
        assert self[identity].text == text

    def press(self, keys, on="body"):
        target = self.driver.find_element(By.CSS_SELECTOR, on)
        target.send_keys(keys)
        self.settle()

    def click(self, identity):
        self.run("arguments[0].scrollIntoView({block: 'center'})", self[identity])
        self[identity].click()
        self.settle()

    def set_count(self, count):
        self["count"].send_keys(Keys.CONTROL + "a")
        self["count"].send_keys(str(count))
        self.settle()

    def picture(self, identity):
        return self.run("return document.getElementById(arguments[0]).toDataURL()", identity)

    def pixels(self, identity):
        """The colours of a canvas, (height, width, 3)."""
        png = base64.b64decode(self.picture(identity).partition(",")[2])
        return (255 * imread(io.BytesIO(png))[:, :, :3]).round().astype(int)

    def label(self, identity):
        return self[identity].get_attribute("aria-label")

    def rows(self):
        return self.run(
            "return [...document.querySelectorAll('#features-table tbody tr')]"
            ".map(row => [...row.children].map(cell => cell.innerText))"
        )


def is_orange(colours):
    red, green, blue = np.moveaxis(colours, -1, 0)
    return (red > green + 25) & (green > blue + 15)


@pytest.fixture(scope="module")
def fitted():
    return STPCASelector(20).fit(FIRST)


@pytest.fixture(scope="module")
def path(tmp_path_factory, fitted):
    path = tmp_path_factory.mktemp("report") / "report.html"
    others = {name: other.fit(FIRST) for name, other in make_alternatives(fitted).items()}
    write_report(path, fitted, SOME, alternatives=others)
    return path


@pytest.fixture
def page(driver, path):
    return Page(driver, path)


def test_opens_from_a_file_without_errors_or_requests(page, path):
    for identity in ("use-suggested", "next", "play", "theme"):
        page.click(identity)
    complaints = [entry["message"] for entry in page.driver.get_log("browser")]
    assert complaints == []
    asked = set()
    for entry in page.driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.add(message["params"]["request"]["url"].partition("?")[0])
    assert asked <= {path.as_uri(), "data:,"}
    assert path.as_uri() in asked
    assert page.driver.title == "Some digits"


def test_is_drawn_at_once(page):
    drawn = page.run("return performance.getEntriesByName('tensift-drawn')[0].startTime")
    assert 0 < drawn < 5000
    for identity in ("map", "sample", "curve"):
        assert len(np.unique(page.pixels(identity).reshape(-1, 3), axis=0)) > 5


def test_policy_stops_scripts_that_are_not_the_pages(page):
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s);"
    )
    assert page.run("return window.hacked") is None
    assert "Content Security Policy" in page.driver.get_log("browser")[0]["message"]


def test_slider_changes_count_pictures_table_and_words(page, fitted):
    before = [page.picture(identity) for identity in ("map", "sample", "curve")]
    page.press(Keys.ARROW_RIGHT, on="#slider")
    assert page["count"].get_attribute("value") == "21"
    after = [page.picture(identity) for identity in ("map", "sample", "curve")]
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert page["slider"].get_attribute("aria-valuetext") == "21 of 64"
    page.wait_for("live", "21 of 64 features kept")
    assert "21 of 64 features kept" in page.label("map")
    assert "21 of 64 features kept" in page.label("sample")
    assert "n_features_to_select=21)" in page["code"].text
    rows = page.rows()
    assert [int(row[3]) for row in rows] == fitted.order_[:21].tolist()
    for row in rows:
        place = np.unravel_index(int(row[3]), (8, 8))
        assert [int(row[1]), int(row[2])] == list(place)
        assert float(row[4]) == pytest.approx(fitted.scores_[place], rel=1e-3)
    page.press(Keys.ARROW_LEFT, on="#slider")
    assert [page.picture(identity) for identity in ("map", "sample", "curve")] == before
    page.press(Keys.END, on="#slider")
    assert page["count"].get_attribute("value") == "64"
    assert "nothing is dropped" in page["curve-text"].text


@pytest.mark.parametrize("count", [1, 20, 37])
def test_marks_are_on_the_kept_features(page, fitted, count):
    page.set_count(count)
    pixels = page.pixels("sample")
    # A square image, 52 pixels from the left, 6 from the top and 38 from the bottom.
    size = (pixels.shape[0] - 44) / 8
    centres = (np.arange(8) + 0.5) * size
    cells = pixels[np.ix_((6 + centres).astype(int), (52 + centres).astype(int))]
    kept = np.zeros(64, dtype=bool)
    kept[fitted.order_[:count]] = True
    np.testing.assert_array_equal(is_orange(cells), kept.reshape(8, 8))


def test_numbers_that_cannot_be_are_brought_into_range(page):
    for typed, taken in (("9999", "64"), ("0", "1"), ("12", "12")):
        page.set_count(typed)
        page.run("document.getElementById('count').blur()")
        assert page["count"].get_attribute("value") == taken
        assert page["slider"].get_attribute("value") == taken


def test_constraints_end_the_slider_and_are_said(driver, tmp_path):
    constraints = Constraints(
        include=[36], exclude=range(8), groups={"top": range(8, 16)}, at_least=2
    )
    selector = VarianceSelector(12, constraints=constraints).fit(FIRST)
    write_report(tmp_path / "limits.html", selector, SOME)
    page = Page(driver, tmp_path / "limits.html")
    assert page["constraints"].is_displayed()
    assert "Included x4_4." in page["constraints-sentences"].text
    assert "Excluded 8 features." in page["constraints-sentences"].text
    assert page["key-included"].is_displayed()
    assert page["key-excluded"].is_displayed()
    assert page["slider"].get_attribute("min") == "3"
    assert page["slider"].get_attribute("max") == "12"
    for typed, taken in (("60", "12"), ("1", "3"), ("7", "7")):
        page.set_count(typed)
        page.run("document.getElementById('count').blur()")
        assert page["count"].get_attribute("value") == taken


def test_suggestion_sets_the_one_number_and_says_why(page):
    found = suggest_count(FIRST)
    wanted = str(found.count)
    reason = found.reason[0].upper() + found.reason[1:]
    assert page["suggestion"].text.startswith(f"{reason}. ")
    assert page["use-suggested"].text == f"Suggested: {wanted}"
    assert reason in page.label("curve")
    page.click("use-suggested")
    assert page["count"].get_attribute("value") == wanted
    assert page["use-suggested"].get_attribute("aria-pressed") == "true"
    page.click("use-fitted")
    assert page["count"].get_attribute("value") == "20"
    page.press("s")
    assert page["count"].get_attribute("value") == wanted


def test_curve_sets_the_count_where_it_is_pressed(page):
    known = suggest_count(FIRST).n_structured
    page.run("document.getElementById('curve').scrollIntoView({block: 'center'})")
    actions = webdriver.ActionChains(page.driver)
    actions.move_to_element(page["curve"]).click().perform()
    page.settle()
    assert abs(int(page["count"].get_attribute("value")) - known / 2) <= 3


@pytest.mark.parametrize("count", [3, 17, 30])
def test_curve_is_the_share_of_neighbours_with_its_spread(page, count):
    found = suggest_count(FIRST)
    page.set_count(count)
    kept_share, spread = found.curve, found.spread
    share = kept_share[count - 1] / kept_share.max()
    assert page["curve-text"].text == (
        f"At {count} features, neighbours kept: {kept_share[count - 1]:.3f} \N{PLUS-MINUS SIGN} "
        f"{spread[count - 1]:.3f}, {100 * share:.0f} % of its maximum."
    )
    # The box of the curve is 52 pixels from the left, 8 from the right, 24 from the top and 38 from
    # the bottom; a round dot is where the curve is at this count.
    pixels = page.pixels("curve")
    height, width = pixels.shape[:2]
    top = min(1, np.ceil(10 * (kept_share + spread).max()) / 10)
    x = 52 + (width - 60) * count / len(kept_share)
    y = 24 + (height - 62) * (1 - kept_share[count - 1] / top)
    kept = pixels[round(y) - 3 : round(y) + 4, round(x) - 3 : round(x) + 4]
    assert is_orange(kept).mean() > 0.7
    left, right = pixels[:, : round(x) - 6], pixels[:, round(x) + 6 :]
    assert is_orange(left).any()
    assert not is_orange(right).any()


def test_curve_says_where_it_ends(page):
    known = suggest_count(FIRST).n_structured
    page.set_count(known + 1)
    assert page["curve-text"].text.startswith(f"The curve ends at {known} features: on the others")
    assert not is_orange(page.pixels("curve")[:, -4:]).any()


def test_scores_are_compared_only_if_they_decide(driver, tmp_path, page, fitted):
    assert fitted.selection != "top"
    assert "score" not in page["curve-text"].text
    assert page["rule"].text.startswith(rule_in_words(fitted.selection))
    top = STPCASelector(9, selection="top").fit(FIRST)
    write_report(tmp_path / "r.html", top, SOME)
    page = Page(driver, tmp_path / "r.html")
    last, following = top.scores_.ravel()[top.order_[[8, 9]]]
    said = page["curve-text"].text.partition("The last kept feature has the score ")[2]
    numbers = said.removesuffix(".").split(", the first dropped feature has ")
    assert [float(number) for number in numbers] == pytest.approx([last, following], rel=1e-3)
    assert page["rule"].text.startswith("The kept features are those with the largest scores.")


def test_bars_are_in_the_order_of_selection_and_say_so(driver, tmp_path):
    orbit = make_orbit(random_state=0).data
    for name, title, step in (
        ("top", "Scores, highest first", 1),
        ("lowest", "Scores, in the order of selection", -1),
    ):
        fitted = VarianceSelector(3, feature_mode=0).fit(orbit)
        fitted.order_ = fitted.order_[::step]
        fitted.set_params(selection=name)
        write_report(tmp_path / "r.html", fitted, orbit)
        page = Page(driver, tmp_path / "r.html")
        assert page["map-title"].text == title
        assert [int(row[2]) for row in page.rows()] == fitted.order_[:3].tolist()
        # Nine bars of 26 pixels, and the length of each is its score.
        pixels = page.pixels("map")[2 + 26 // 2 :: 26][:9]
        light = pixels.mean(axis=2)
        bars = is_orange(pixels) | ((light > 180) & (light < 225))
        assert [bool(row.any()) for row in is_orange(pixels)] == [True] * 3 + [False] * 6
        lengths = bars.sum(axis=1)
        scores = fitted.scores_[fitted.order_]
        assert np.corrcoef(lengths, scores)[0, 1] > 0.99


def test_noise_has_no_structure_and_no_curve(driver, tmp_path):
    noise = np.random.default_rng(3).normal(size=(80, 6, 5))
    write_report(tmp_path / "r.html", VarianceSelector(4).fit(noise), noise)
    page = Page(driver, tmp_path / "r.html")
    assert page["suggestion"].text.startswith("No structure: on no feature do similar samples")
    assert page["use-suggested"].text == "No structure"
    assert not page["use-suggested"].is_enabled()
    assert not page["curve"].is_displayed()
    page.press("s")
    assert page["count"].get_attribute("value") == "4"
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_too_few_samples_have_no_curve_and_say_so(driver, tmp_path):
    write_report(tmp_path / "r.html", STPCASelector(4, selection="top").fit(FIRST[:9]), FIRST[:9])
    page = Page(driver, tmp_path / "r.html")
    assert "the report has 9 samples" in page["suggestion"].text
    assert page["use-suggested"].text == "No suggestion"
    assert not page["curve"].is_displayed()
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_overlay_can_be_alone_or_off(page):
    seen = {}
    for choice in ("marked", "alone", "hidden"):
        page.run(f"document.querySelector('input[value={choice}]').click()")
        page.settle()
        seen[choice] = (page.picture("sample"), is_orange(page.pixels("sample")).sum())
    assert len({picture for picture, _ in seen.values()}) == 3
    assert seen["marked"][1] > 1000
    assert seen["hidden"][1] == 0
    assert "not marked on sample 0" in page.label("sample")


def test_samples_by_buttons_and_keys(page):
    first = page.picture("sample")
    assert page["sample-name"].text == f"Sample 0, class {SOME.labels[0]} · 1 of 60"
    page.click("next")
    second = page.picture("sample")
    assert second != first
    assert page["sample-name"].text.startswith(f"Sample 1, class {SOME.labels[1]}")
    page.press("p")
    assert page.picture("sample") == first
    page.press("p")
    assert page["sample-name"].text.startswith("Sample 59")
    page.press("n")
    assert page.picture("sample") == first


def test_play_goes_on_until_it_is_stopped(page):
    page.press(" ")
    assert page["play"].text == "Pause"
    deadline = time.monotonic() + 10
    while page["sample-name"].text.startswith("Sample 0") and time.monotonic() < deadline:
        page.settle()
    assert not page["sample-name"].text.startswith("Sample 0")
    page.click("play")
    assert page["play"].text == "Play"
    name = page["sample-name"].text
    time.sleep(0.6)  # longer than a step
    assert page["sample-name"].text == name


def test_keys_are_left_to_fields_and_buttons(page):
    page.press("n", on="#count")
    assert page["sample-name"].text.startswith("Sample 0")
    page.run("document.getElementById('theme').focus()")
    page.press(" ", on="#theme")
    assert page["play"].text == "Play"


def test_map_is_read_by_arrow_keys(page, fitted):
    best = np.unravel_index(fitted.order_[0], (8, 8))
    page.press(Keys.ARROW_RIGHT, on="#map")
    assert page["readout"].text.startswith(f"row {best[0]}, column {best[1]}: score ")
    assert page["readout"].text.endswith("rank 1, kept")
    page.press(Keys.ARROW_UP, on="#map")
    above = (best[0] - 1, best[1])
    rank = fitted.order_.tolist().index(np.ravel_multi_index(above, (8, 8))) + 1
    assert page["readout"].text.startswith(f"row {above[0]}, column {above[1]}: score ")
    assert f"rank {rank}, " in page["readout"].text


def test_names_and_units_are_read_out(driver, tmp_path):
    known = {"dims": ("row", "column"), "coords": {"column": np.arange(8) / 4}}
    data = TensorDataset(FIRST, **known, units={"column": "mm"})
    selector = STPCASelector(20, lam=1, eta=1).fit(data)
    write_report(tmp_path / "r.html", selector, data)
    page = Page(driver, tmp_path / "r.html")
    row, column = np.unravel_index(selector.order_[0], (8, 8))
    page.press(Keys.ARROW_RIGHT, on="#map")
    assert page["readout"].text.startswith(f"row {row}, column {column / 4:g} mm: score ")
    head = "return [...document.querySelectorAll('#features-table th')].map(e => e.innerText)"
    assert {"row", "column (mm)"} <= set(page.run(head))
    assert "(row, column)" in page["lede"].text


def test_everything_is_reached_by_tab_and_focus_is_seen(page):
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = []
    for _ in range(40):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        found = page.run(
            "const e = document.activeElement; const s = getComputedStyle(e);"
            "return [e.id || e.value || e.className, s.outlineStyle, s.outlineWidth]"
        )
        reached.append(found[0])
        if found[0] in ("slider", "count", "theme", "next", "download", "map"):
            assert found[1:] == ["solid", "2px"], found
    wanted = {
        "theme",
        "count",
        "slider",
        "use-suggested",
        "map",
        "next",
        "play",
        "download",
        "more",
    }
    assert wanted - {"more"} <= set(reached)


def test_everything_has_a_name_for_screen_readers(page):
    unnamed = page.run(
        "return [...document.querySelectorAll('button, input, select, canvas')]"
        ".filter(e => e.getAttribute('aria-hidden') !== 'true' && !e.hidden)"
        ".filter(e => !(e.textContent.trim() || e.getAttribute('aria-label')"
        " || e.labels?.length)).map(e => e.outerHTML)"
    )
    assert unnamed == []
    canvases = page.driver.find_elements(By.CSS_SELECTOR, "canvas[id]")
    assert [canvas.get_attribute("role") for canvas in canvases] == ["img"] * 5
    assert page.run("return document.querySelectorAll('h1').length") == 1
    for table in page.driver.find_elements(By.CSS_SELECTOR, "#features-table"):
        assert table.find_elements(By.CSS_SELECTOR, "caption, thead th[scope=col]")
        assert len(table.find_elements(By.CSS_SELECTOR, "tbody th[scope=row]")) == 20


def brightness(page):
    text = page.run("return getComputedStyle(document.body).backgroundColor")
    return np.mean([int(part) for part in text.strip("rgb()").split(",")])


def test_dark_by_choice_and_by_the_systems_setting(driver, path):
    page = Page(driver, path)
    light = page.picture("map")
    assert brightness(page) > 200
    page.click("theme")
    assert brightness(page) < 60
    dark = page.picture("map")
    assert dark != light
    assert page["theme"].get_attribute("aria-pressed") == "true"
    page.press("d")
    assert page.picture("map") == light
    page = Page(driver, path, dark=True)
    assert brightness(page) < 60
    assert page.picture("map") == dark


def test_alternatives_can_be_looked_at(page):
    buttons = page.driver.find_elements(By.CSS_SELECTOR, "#alternatives-grid button")
    assert len(buttons) == 6
    other = next(button for button in buttons if "orientation 1, dct" in button.text)
    expected = STPCASelector(20, orientation=1, basis="dct").fit(FIRST)
    shared = len(set(expected.order_[:20]) & set(STPCASelector(20).fit(FIRST).order_[:20]))
    assert f"({shared})" in other.text
    before = page.picture("map")
    page.run("arguments[0].scrollIntoView({block: 'center'})", other)
    other.send_keys(Keys.ENTER)
    page.settle()
    assert other.get_attribute("aria-pressed") == "true"
    assert page.picture("map") != before
    assert [int(row[3]) for row in page.rows()] == expected.order_[:20].tolist()
    assert "basis='dct', orientation=1" in page["code"].text
    page.click("view-first")
    assert page.picture("map") == before


HARMFUL = ["=1+1", '"+x', "-3", "@a;=b", "c,d", "-e", "+4e2", "f"]


def downloaded(page, folder):
    """The table that the page saves."""
    allow = {"behavior": "allow", "downloadPath": str(folder)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    page.click("download")
    found = folder / "ranking.csv"
    deadline = time.monotonic() + 10
    while not found.exists() and time.monotonic() < deadline:
        page.settle()
    return found


@pytest.mark.parametrize("named", [False, True])
def test_download_is_the_table_of_the_command_line(driver, tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    names = {"dims": ["=row", "column"], "coords_=row": HARMFUL} if named else {}
    if named:
        names |= {"coords_column": np.arange(8) / 7, "units_column": "mm"}
    np.savez("x.npz", data=FIRST, **names)
    assert main(["select", "x.npz", "-k", "9", "--report", "--no-figure", "--quiet"]) == 0
    folder = tmp_path / "x.npz-tensift"
    page = Page(driver, folder / "report.html")
    found = downloaded(page, tmp_path)
    one, other = (
        list(csv.DictReader(io.StringIO(file.read_text())))
        for file in (found, folder / "ranking.csv")
    )
    scores = [np.array([float(row.pop("score")) for row in table]) for table in (one, other)]
    assert one == other
    np.testing.assert_allclose(*scores, rtol=1e-6)
    assert any("'=1+1" in row.values() for row in one) == named
    assert ("column (mm)" in one[0]) == named


def test_costs_and_groups_are_in_the_table_and_the_download(driver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", data=FIRST)
    (tmp_path / "c.csv").write_text("feature,cost,group\n3,2.5,=top\n9,1e-7,\n12,,top\n")
    options = ["--constraints", "c.csv", "--budget", "6", "--at-most", "1"]
    command = ["select", "x.npz", "-k", "9", *options, "--report", "--no-figure", "--quiet"]
    assert main(command) == 0
    folder = tmp_path / "x.npz-tensift"
    page = Page(driver, folder / "report.html")
    titles = page.run(
        "return [...document.querySelectorAll('#features-table thead th')].map(e => e.innerText)"
    )
    assert titles[-2:] == ["Cost", "Group"]
    written = list(csv.reader(io.StringIO((folder / "ranking.csv").read_text())))
    shown = list(csv.reader(io.StringIO(downloaded(page, tmp_path).read_text())))
    assert written[0][-2:] == ["cost", "group"]
    assert [row[-2:] for row in shown] == [row[-2:] for row in written]
    assert {row[-1] for row in written[1:]} == {"", "top", "'=top"}


def test_copies_table_and_code(page):
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.driver.execute_cdp_cmd("Browser.grantPermissions", allowed)
    page.click("copy-code")
    assert page["copy-code"].text == "Copied"
    assert page.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0])"
    ) == page.run("return document.getElementById('code').textContent")
    page.click("copy-table")
    text = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert len(text.splitlines()) == 21


def test_long_tables_are_shown_in_full_when_asked(page, fitted):
    page.set_count(60)
    assert len(page.rows()) == 50
    assert page["more"].text == "Show the other 10"
    page.click("more")
    assert [int(row[3]) for row in page.rows()] == fitted.order_[:60].tolist()


def test_channels_are_traces(driver, tmp_path):
    orbit = make_orbit(random_state=0)
    names = [f"sensor {i}" for i in range(9)]
    data = TensorDataset(
        orbit.data, name="Orbit", dims=("channel", "time"), coords={"channel": names}
    )
    fitted = STPCASelector(3, feature_mode=0).fit(orbit.data)
    write_report(tmp_path / "r.html", fitted, data)
    page = Page(driver, tmp_path / "r.html")
    # Orange is in the lower part of the picture alone: the last three of nine channels.
    pixels = page.pixels("sample")
    rows = np.flatnonzero(is_orange(pixels).any(axis=1)) / (len(pixels) - 34)
    assert set((9 * rows).astype(int)) >= {6, 7, 8}
    assert rows.min() > 0.55
    assert [row[1] for row in page.rows()] == [names[i] for i in fitted.order_[:3]]
    marked = page.picture("sample")
    page.press("n")
    assert page.picture("sample") != marked
    page.press(Keys.ARROW_LEFT, on="#slider")
    assert len(page.rows()) == 2
    page.press(Keys.ARROW_DOWN, on="#map")
    assert page["readout"].text.startswith(f"channel {names[fitted.order_[0]]}: score")


def test_further_modes_have_a_control(driver, tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 3, 6, 5))
    data = TensorDataset(X, dims=("band", "row", "column"))
    write_report(tmp_path / "r.html", STPCASelector(9).fit(X), data)
    page = Page(driver, tmp_path / "r.html")
    seen = set()
    for index in range(3):
        page.run(
            "const s = document.getElementById('further-0'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'))",
            str(index),
        )
        page.settle()
        seen.add(page.picture("map") + page.picture("sample"))
    assert len(seen) == 3
    assert page["further"].text.startswith("band")


def test_comparison_is_shown(driver, tmp_path):
    found = compare_selectors(FIRST, ["laplacian score"], 20, n_resamples=2)
    write_report(tmp_path / "r.html", None, SOME, comparison=found)
    page = Page(driver, tmp_path / "r.html")
    rows = page.driver.find_elements(By.CSS_SELECTOR, "#methods-table tbody tr")
    assert [row.text.split()[0] for row in rows] == list(found.methods)
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#agreement tbody td")) == 9
    assert page["methods-sentences"].text.splitlines() == [*found.conclusions(), *found.notes]
    button = page.driver.find_elements(By.CSS_SELECTOR, "#methods-grid button")[1]
    page.run("arguments[0].click()", button)
    page.settle()
    kept = found.features["VarianceSelector"]
    assert [int(row[3]) for row in page.rows()] == kept.tolist()
    assert not page["caveat"].is_displayed()
    page.set_count(25)
    assert page["caveat"].is_displayed()
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_stability_is_shown_and_can_be_looked_at(driver, tmp_path, fitted):
    found = stability_selection(fitted, FIRST, n_resamples=10)
    file = tmp_path / "stable.html"
    write_report(file, fitted, SOME, stability=found)
    page = Page(driver, file)
    shown = page["stability-sentences"].text.split("\n")
    assert shown == found.reason.splitlines()
    page.run("document.querySelectorAll('#stability-grid button')[1].click()")
    page.settle()
    assert page["map-title"].text == "Share of resamples that keep a feature"
    page.click("use-fitted")
    count = len(found.selected)
    page.wait_for("features-title", f"{count} kept features")
    rows = page.rows()
    assert [int(row[-2]) for row in rows] == found.selected.tolist()
    shares = found.probabilities.ravel()[found.selected]
    np.testing.assert_allclose([float(row[-1]) for row in rows], shares, rtol=1e-3)
    assert page.driver.get_log("browser") == []


def test_certificates_say_what_is_proven(driver, tmp_path, page):
    assert "Every objective is proven" in page["certificates-text"].text
    paper = STPCASelector(9, solver=PaperSolver(max_iter=1000)).fit(FIRST)
    write_report(tmp_path / "r.html", paper, SOME)
    page = Page(driver, tmp_path / "r.html")
    assert not page["certificates"].is_displayed()
    page.click("settings-title")
    assert "does not prove how close this is to the optimum" in page["facts"].text
    assert 'solver="exact" does' in page["facts"].text


def test_equal_scores_and_zeros_are_told(driver, tmp_path):
    fitted = STPCASelector(3, selection="top").fit(FIRST)
    fitted.scores_ = np.ones((8, 8))
    write_report(tmp_path / "r.html", fitted, SOME)
    page = Page(driver, tmp_path / "r.html")
    assert "the cut separates equal features" in page["curve-text"].text
    # The suggestion does not depend on scores.
    page.press("s")
    assert page["count"].get_attribute("value") == str(suggest_count(FIRST).count)
    fitted.scores_ = np.zeros((8, 8))
    write_report(tmp_path / "r.html", fitted, SOME)
    assert "All scores are zero" in Page(driver, tmp_path / "r.html")["rule"].text
    fitted.scores_ = np.arange(64.0).reshape(8, 8)
    write_report(tmp_path / "r.html", fitted, SOME)
    page = Page(driver, tmp_path / "r.html")
    assert page["rule"].text.endswith(" 1 feature has a score of zero.")
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_hostile_names_are_shown_not_run(driver, tmp_path):
    X = np.random.default_rng(2).normal(size=(12, 3, 4))
    data = TensorDataset(
        X,
        name=HOSTILE,
        labels=[HOSTILE] * 12,
        dims=(HOSTILE, "y"),
        coords={HOSTILE: [HOSTILE] * 3},
    )
    fitted = STPCASelector(2).fit(X)
    source = Source(samples=f"load({HOSTILE!r})", facts={HOSTILE: HOSTILE})
    write_report(tmp_path / "r.html", fitted, data, alternatives={HOSTILE: fitted}, source=source)
    page = Page(driver, tmp_path / "r.html")
    page.press("n")
    page.press(Keys.ARROW_RIGHT, on="#map")
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page["title"].text == HOSTILE
    assert page.rows()[0][1] == HOSTILE
    assert HOSTILE in page["code"].text
    assert HOSTILE in page["readout"].text
    assert page.driver.title == HOSTILE
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_hostile_file_names_are_shown_not_run(driver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "<img src=x onerror=window.hacked=1>"
    np.save(f"{name}.npy", FIRST)
    assert main(["report", f"{name}.npy", "-k", "9", "-o", "r.html", "--quiet"]) == 0
    page = Page(driver, tmp_path / "r.html")
    assert page["title"].text == name
    assert f"read_tensor('{name}.npy')" in page["code"].text
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.run("return window.hacked") is None
    assert f"{name}.npy" in page.run("return document.getElementById('facts').textContent")
    assert [entry["message"] for entry in driver.get_log("browser")] == []


@pytest.mark.parametrize("width", [390, 768])
def test_narrow_screens_need_no_sideways_scrolling(driver, path, width):
    page = Page(driver, path, width=width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    for identity in ("map", "sample", "curve", "slider", "features"):
        box = page.run(
            "const b = document.getElementById(arguments[0]).getBoundingClientRect();"
            "return [b.left, b.right]",
            identity,
        )
        assert box[0] >= 0, identity
        assert box[1] <= width, identity


def test_what_is_missed_and_redundant_has_names(driver, tmp_path):
    """A copy is redundant, a sum is predicted, and noise on its own is missed."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 5))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    rows[:, 3] = rows[:, 0] + 1e-3 * rng.normal(size=400)
    names = np.array(["one", "two", "sum", "copy", "noise"])
    data = TensorDataset(rows, dims=("probe",), coords={"probe": names}, name="Probes")
    constraints = Constraints(include=[0, 1, 3])
    fitted = GeometrySelector(3, constraints=constraints).fit(data)
    write_report(tmp_path / "r.html", fitted, data)
    page = Page(driver, tmp_path / "r.html")

    def rows_of(table):
        return page.run(
            "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
            ".map(row => [...row.children].map(cell => cell.innerText))",
            f"#{table}",
        )

    missed, redundant = rows_of("missed-table"), rows_of("redundant-table")
    assert [row[0] for row in missed] == ["probe noise", "probe sum"]
    assert missed[1][1] == "100\u00a0%"
    assert missed[0][2] == "100\u00a0%"
    assert {(row[0], row[2]) for row in redundant[:2]} == {
        ("probe one", "probe copy"),
        ("probe copy", "probe one"),
    }
    assert redundant[0][1] == "100\u00a0%"
    assert int(redundant[2][1][:-2]) < 10
    assert "of 2 kept features more than 90 %" in page["missed-sentences"].text
    assert "Of 1 dropped feature less than 10 %" in page["missed-sentences"].text
    assert page.driver.get_log("browser") == []


def test_sections_follow_the_questions_of_a_reader(page):
    titles = page.run("return [...document.querySelectorAll('main h2')].map(e => e.textContent)")
    order = [
        "How many features",
        "How sure",
        "What is missed, what is redundant",
        "20 kept features",
    ]
    assert [title for title in titles if title in order] == order
    assert titles[-1] == "Certificates"


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(driver, path, width, dark):
    page = Page(driver, path, width=width, dark=dark)
    wide = page.run(
        "const wide = []; document.querySelectorAll('details').forEach(e => { e.open = true; });"
        "for (const e of document.querySelectorAll('main *, header *, footer *')) {"
        "  if (e.closest('.scroll, pre, .sr-only, [hidden]')) continue;"
        "  if (e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
        "    wide.push(e.outerHTML.slice(0, 80)); } return wide;"
    )
    assert wide == []
    for table in page.driver.find_elements(By.CSS_SELECTOR, ".scroll"):
        overflow = page.run("return getComputedStyle(arguments[0]).overflowX", table)
        assert overflow == "auto"


def test_a_print_is_light_and_whole(driver, path):
    page = Page(driver, path, dark=True)
    before = page.picture("map")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.run("return document.documentElement.dataset.theme") == "light"
    assert page.run("return document.querySelectorAll('details:not([open])').length") == 0
    assert not page["slider"].is_displayed()
    assert page["count-in-print"].text == "20 of 64 features kept."
    clipped = page.run(
        "return [...document.querySelectorAll('.scroll, pre')]"
        ".filter(e => e.offsetParent && e.scrollHeight > e.clientHeight + 1).length"
    )
    assert clipped == 0
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.run("window.dispatchEvent(new Event('afterprint'))")
    page.settle()
    assert page.run("return document.documentElement.dataset.theme") == "dark"
    assert page.picture("map") == before
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(pdf).startswith(b"%PDF")
    assert page.driver.get_log("browser") == []
