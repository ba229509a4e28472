"""Look at every page of the built site in a browser, and say what is wrong with it.

``python -m docs.check_site`` (or ``make check-docs``) opens the pages of docs/_build/html in
Chromium, in light and dark, wide and narrow; those of the reference, which are all alike, in light
and wide only. It finds links and pictures that lead nowhere, errors
of the console, requests to other hosts, pages wider than the window, and text that is hard to read:
less contrast than WCAG 2.1 asks for at level AA. It needs selenium, chromium and chromedriver.
"""

import argparse
import json
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "docs" / "_build" / "html"
WIDTHS = (1400, 400)
_ALIKE = "generated/"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Text that is seen, its colour on the colours behind it, and whether it is large.
_CONTRASTS = """
const channel = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = (text) => {
  const parts = text.match(/[\\d.]+/g).map(Number);
  const scale = text.startsWith("color(") ? 255 : 1;
  const [r, g, b] = parts.slice(0, 3).map((v) => v * scale);
  return [r, g, b, parts.length > 3 ? parts[3] : 1];
};
const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => a * v + (1 - a) * below[i]);
const behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.backgroundImage !== "none") return null;
    layers.push(parse(style.backgroundColor));
    if (layers.at(-1)[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
  if (element.closest("svg, mjx-container, [disabled], .sr-only, .visually-hidden")) continue;
  const box = element.getBoundingClientRect();
  if (box.width < 2 || box.height < 2) continue;
  const style = getComputedStyle(element);
  const ground = behind(element);
  if (!ground) continue;
  const text = over(parse(style.color), ground);
  const [high, low] = [light(text), light(ground)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5) - 0.005) {
    const words = element.textContent.trim().replace(/\\s+/g, " ").slice(0, 40);
    const where = `${element.tagName.toLowerCase()}.${element.className}`.slice(0, 60);
    found.push([where, words, ratio]);
  }
}
return found;
"""
_LINKS = """
return {
  to: [...document.querySelectorAll("a[href]")].map((a) => a.href),
  ids: [...document.querySelectorAll("[id], a[name]")].map((e) => e.id || e.name),
  broken: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src),
};
"""
# Colours that fade are seen as they end.
_SETTLE = """
const style = document.createElement("style");
const still = "transition: none !important; animation: none !important";
style.textContent = `*, ::before, ::after { ${still} }`;
document.head.append(style);
return document.body.offsetWidth;
"""
_TOO_WIDE = """
return document.documentElement.scrollWidth - document.documentElement.clientWidth;
"""


def open_browser():
    """Return Chromium and its driver as the system has them; nothing is downloaded."""
    from selenium import webdriver

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        raise SystemExit(
            "needs chromium and chromedriver: apt-get install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def look_at(browser, address, *, width, dark):
    """Return what is wrong with a page, its links and its anchors."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(address)
    browser.execute_script(_SETTLE)
    log = browser.get_log("browser")
    wrong = [f"console: {entry['message']}" for entry in log if entry["level"] == "SEVERE"]
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked = message["params"]["request"]["url"]
            if urlsplit(asked).scheme not in ("file", "data", "blob", "about", "chrome"):
                wrong.append(f"request: {asked}")
    if (wide := browser.execute_script(_TOO_WIDE)) > 1:
        wrong.append(f"wider than the window by {wide} pixels")
    for where, words, ratio in browser.execute_script(_CONTRASTS):
        wrong.append(f"contrast {ratio:.1f}: {where} {words!r}")
    found = browser.execute_script(_LINKS)
    wrong += [f"picture: {address}" for address in found["broken"]]
    return wrong, found["to"], set(found["ids"])


def dead_links(links, anchors):
    """Return links between pages and files that lead nowhere, as (page, link)."""
    dead = []
    for page, targets in links.items():
        for target in sorted(set(targets)):
            address, anchor = urldefrag(target)
            if urlsplit(address).scheme != "file":
                continue
            path = Path(unquote(urlsplit(address).path))
            known = anchors.get(path)
            if not path.exists() or (anchor and known is not None and unquote(anchor) not in known):
                dead.append((page, target.removeprefix(SITE.as_uri())))
    return dead


def main(arguments=None):
    """Look at all pages; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", nargs="?", type=Path, default=SITE)
    parser.add_argument("--only", metavar="TEXT", default="", help="pages whose path has this text")
    options = parser.parse_args(arguments)
    site = options.site.resolve()
    found = (page for page in site.rglob("*.html") if "_static" not in page.parts)
    pages = sorted(page for page in found if options.only in str(page))
    if not pages:
        raise SystemExit(f"no pages in {options.site}; run make docs first")
    wrong, links, anchors = defaultdict(set), {}, {}
    browser = open_browser()
    try:
        for page in pages:
            name = str(page.relative_to(site))
            ways = [(width, dark) for width in WIDTHS for dark in (False, True)]
            for width, dark in ways[:1] if _ALIKE in name else ways:
                found, to, ids = look_at(browser, page.as_uri(), width=width, dark=dark)
                for one in found:
                    wrong[one].add((name, f"{width}, {'dark' if dark else 'light'}"))
            links[page], anchors[page] = to, ids
    finally:
        browser.quit()
    if options.only:  # anchors of the other pages are not known
        anchors = {page: anchors[page] for page in pages}
    for page, target in dead_links(links, anchors):
        wrong[f"link to nowhere: {target}"].add((page.name, "all"))
    for one, places in sorted(wrong.items(), key=lambda item: -len(item[1])):
        page, way = min(places)
        print(f"{one}\n    {page} ({way}), {len(places)} in all")
    print(f"{len(pages)} pages, {len(wrong)} kinds of faults")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
