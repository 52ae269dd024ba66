"""python docs/screenshot.py results/report/index.html docs/static/first-page.png [dark]: the README's picture, the top of a
rendered page, in the Chromium or Chrome on PATH."""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1400, "height": 1340}


def screenshot(html: Path, picture: Path, scheme: str = "light") -> None:
    browser_on_path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=browser_on_path, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme=scheme)
        tab.goto(html.resolve().as_uri())
        shot = tab.screenshot()
        browser.close()
    Image.open(io.BytesIO(shot)).quantize(64).save(picture, optimize=True)  # a third of the size


if __name__ == "__main__":
    source, target, *scheme = sys.argv[1:]
    screenshot(Path(source), Path(target), *scheme)
