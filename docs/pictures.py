"""The README's two pictures, of a real run:

make report 2>&1 | tee run.log
.venv/bin/python docs/pictures.py terminal run.log docs/static/run.svg ['make report']
.venv/bin/python docs/pictures.py page results/report/index.html docs/static/first-page.png [dark]

`terminal`: the run's output as printed, with long stretches of similar lines shortened. `page`: the top of a rendered page
in the Chromium or Chrome on PATH.
"""

import io
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

STYLES = {"check": "cyan", "time": "green", "tune": "magenta", "build": "magenta"}
SHOWN = 3  # lines at either end of a stretch
HIDDEN = re.compile(
    r"^(WARNING: |Using workflow|python3? -m|grep |touch |\.venv/|make|\w{3} \w{3} \d)"
)
SIZE = {"width": 1000, "height": 900}


def lines(log: str) -> Iterator[str]:
    """What is shown of a run's output."""
    said = [line.rstrip() for line in log.splitlines() if line.strip() and not HIDDEN.match(line)]

    def of_cells(line: str) -> bool:
        return line.split()[0] in ("check", "time", "train", "tune", "build")

    for together, group in groupby(said, lambda line: (line.startswith(" "), of_cells(line))):
        stretch = list(group)
        if not together[0] or len(stretch) <= 2 * SHOWN + 1:
            yield from stretch
            continue
        yield from stretch[:SHOWN]
        yield f"    ... {len(stretch) - 2 * SHOWN} more lines"
        yield from stretch[-SHOWN:]


def terminal(log: Path, picture: Path, command: str = "make report") -> None:
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    for line in lines(log.read_text()):
        style = STYLES.get(line.split()[0], "dim" if line.startswith("    ...") else "")
        console.print(Text(line, style=style), overflow="ellipsis", no_wrap=True)
    # Without the fonts that it would fetch.
    shape = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)
    picture.write_text(console.export_svg(title=command, code_format=shape))


def page(html: Path, picture: Path, scheme: str = "light") -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    browser_on_path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=browser_on_path, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme=scheme)
        tab.goto(html.resolve().as_uri())
        shot = tab.screenshot()
        browser.close()
    Image.open(io.BytesIO(shot)).quantize(128).save(picture, optimize=True)  # a third of the size


if __name__ == "__main__":
    what, source, target, *more = sys.argv[1:]
    {"terminal": terminal, "page": page}[what](Path(source), Path(target), *more)
