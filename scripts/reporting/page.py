"""Pages: sections with their data through the templates beside them into markdown, and that into HTML."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt

from reporting import layout, marks
from reporting.sections import FOLDER, slug

REPORT = Path("report")
FIGURE = r"figures/[a-z0-9-]+/[A-Za-z0-9_-]+\.svg"


def environment(*folders: Path) -> jinja2.Environment:
    """Templates that stop at a name nobody gave them, with all filters of layout."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders or (FOLDER, REPORT)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= layout.FILTERS
    return found


def markdown(title: str, about: Mapping, parts: Sequence[Mapping], figures: str = "figures") -> str:
    """A page: report/page.md.j2 with `parts`, sections as analysed. `about`: what it says of itself and of the
    machines; `figures`: the folder of its figures, seen from the page."""
    templates = environment()
    context: dict[str, Any] = {"machines": about["machine_names"], "about": about}
    context["noisy"] = marks.MEANING

    def rendered(part: Mapping) -> str:
        """A section; its figure stands where its template has it, or else before its text."""
        template = templates.get_template(f"{part['section']}.md.j2")
        figure = ""
        if part["figure"]:
            folder = part.get("folder") or figures
            figure = f"![{part['figure']['text']}]({folder}/{part['figure']['file']})"
        own = {"title": part["title"], "data": part["data"], "figure": figure}
        own["first"] = part is parts[0]
        text = template.render(context | own)
        return text if figure in text else f"{figure}\n\n{text}"

    shown = [{**part, "text": rendered(part)} for part in parts]
    page = templates.get_template("page.md.j2").render(context | {"title": title, "parts": shown})
    return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"


def _inlined(number: int, path: Path, text: str) -> str:
    """A figure's SVG as a part of a page: what its points say is shown there, which a picture does not do. Its names are
    made different from those of other figures."""
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\b(id=")([^"]+)"', rf'\1f{number}-\2"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1f{number}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bwidth="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    label = html.escape(text, quote=True)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return f'<figure class="drawn" tabindex="0" role="group" aria-label="Figure">{svg}</figure>'


def to_html(text: str, folder: Path) -> str:
    """A self-contained HTML page of a markdown one: its figures inside it, its contents at the side, its tables sorted
    by a click. `folder`: where its figures' paths begin."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    # The only HTML that pages have in their markdown; all else in it is text, as reasons may come from anywhere.
    body = re.sub(
        r"<p>&lt;details&gt;&lt;summary&gt;(.*?)&lt;/summary&gt;</p>",
        r"<details><summary>\1</summary>",
        body,
        flags=re.S,
    ).replace("<p>&lt;/details&gt;</p>", "</details>")
    # A picture is one of the page's own figures: what a reason or a label names is not fetched, and no other file read.
    body = re.sub(rf'<img src="(?!{FIGURE}")[^"]*" alt="([^"]*)"[^>]*>', r"\1", body)
    figures = iter(range(1, 1000))
    body = re.sub(
        rf'<p><img src="({FIGURE})" alt="([^"]*)" /></p>',
        lambda m: (
            _inlined(next(figures), folder / m[1], html.unescape(m[2]))
            if (folder / m[1]).is_file()
            else f"<p>{m[2]}</p>"
        ),
        body,
    )
    headings: list[tuple[int, str, str]] = []

    def heading(match: re.Match) -> str:
        words = re.sub(r"<[^>]+>", "", match[2])
        anchor = slug(html.unescape(words))
        headings.append((int(match[1]), anchor, words))
        return f'<h{match[1]} id="{anchor}">{match[2]}</h{match[1]}>'

    body = re.sub(r"<h([1-4])>(.*?)</h\1>", heading, body)
    body = re.sub(r'href="([a-z0-9-]+)\.md', r'href="\1.html', body)
    body = re.sub(r"<th([^>]*)>(.*?)</th>", _sortable, body)
    body = re.sub(
        r"\[([\d.]+), ([\d.]+)\]", r"[\1,&nbsp;\2]", body
    )  # an interval stays on its line
    tables = iter(range(1, 1000))
    body = re.sub(
        r"<table>",
        lambda m: (
            f'<div class="wide" tabindex="0" role="region" aria-label="Table {next(tables)}"><table>'
        ),
        body,
    ).replace("</table>", "</table></div>")
    title = next((words for level, _, words in headings if level == 1), "")
    contents = [entry for entry in headings if entry[0] == 2]
    template = environment(REPORT).get_template("page.html.j2")
    return template.render(title=title, contents=contents, body=body)


def _sortable(match: re.Match) -> str:
    if not match[2].strip():
        return f"<td{match[1]}></td>"  # a heading without words is none
    return f'<th{match[1]} scope="col"><button type="button">{match[2]}</button></th>'


def write(path: Path, text: str) -> None:
    """A page as markdown and as HTML beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.with_suffix(".html").write_text(to_html(text, path.parent))
