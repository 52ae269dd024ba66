"""Pages: sections with their data through the templates beside them into markdown, and that into HTML."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt

from reporting import layout, marks
from reporting.sections import FOLDER, NARROW, slug

REPORT = Path("report")
Site = Sequence[Mapping[str, str]]
SENTENCE = 70  # letters of a table's cell from which on it is one to be read
LINE = 120  # letters of a typical line of a table from which on it is too
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

    # A section of nothing but a fold is one of the section before: a heading has content.
    shown = [
        {**part, "text": rendered(part)}
        | ({"title": ""} if isinstance(part["data"], dict) and part["data"].get("folded") else {})
        for part in parts
    ]
    page = templates.get_template("page.md.j2").render(context | {"title": title, "parts": shown})
    return marks.explained(re.sub(r"\n{3,}", "\n\n", page).strip()) + "\n"


def _inlined(number: int, path: Path, text: str) -> str:
    """A figure as a part of a page: for wide screens, and for narrow ones where there is such a file beside it."""
    narrow = path.with_name(f"{path.stem}{NARROW}.svg")
    drawn = _svg(f"f{number}", path, text)
    if narrow.is_file():
        drawn += _svg(f"n{number}", narrow, text).replace("<svg", '<svg class="narrow"', 1)
    return f'<figure class="drawn" tabindex="0" role="group" aria-label="Figure">{drawn}</figure>'


def _svg(name: str, path: Path, text: str) -> str:
    """A figure's SVG: what its points say is shown in a page, which a picture does not do. Its names are made different
    from those of other figures."""
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\b(id=")([^"]+)"', rf'\1{name}-\2"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1{name}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bwidth="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    label = html.escape(text, quote=True)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def to_html(text: str, folder: Path, site: Site = (), name: str = "") -> str:
    """A self-contained HTML page of a markdown one: its figures inside it, all pages and its contents at the side, its
    tables sorted by a click. `folder`: where its figures' paths begin; `site`, `name`: as in `write`."""
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
    body = re.sub(r"<table>.*?</table>", _stacked, body, flags=re.S)
    body = re.sub(r"<th([^>]*)>(.*?)</th>", _sortable, body)
    body = re.sub(
        r"\[([\d.]+), ([\d.]+)\]", r"[\1,&nbsp;\2]", body
    )  # an interval stays on its line, and its marks behind it
    body = re.sub(rf"\](?=[{marks.NOISY}{marks.WIDE}])", "]&#8288;", body)
    tables = iter(range(1, 1000))
    body = re.sub(
        r"<table( [^>]*)?>",
        lambda m: (
            f'<div class="wide" tabindex="0" role="region" aria-label="Table {next(tables)}">{m[0]}'
        ),
        body,
    ).replace("</table>", "</table></div>")
    title = next((words for level, _, words in headings if level == 1), "")
    contents = [entry for entry in headings if entry[0] == 2]
    template = environment(REPORT).get_template("page.html.j2")
    return template.render(title=title, contents=contents, body=body, site=site, name=name)


def _stacked(match: re.Match) -> str:
    """A table of sentences, which on a narrow screen is read line by line: each of its cells says what it is."""
    table = match[0]
    cells = [len(text) for text in re.findall(r"<td[^>]*>(.*?)</td>", table, flags=re.S)]
    lines = max(1, table.count("<tr>") - 1)
    if max(cells, default=0) < SENTENCE and sum(cells) / lines < LINE:
        return table
    heads = [
        re.sub(r"<[^>]+>", "", head)
        for head in re.findall(r"<th(?: [^>]*)?>(.*?)</th>", table, re.S)
    ]

    def row(found: re.Match) -> str:
        names = iter(heads)
        return re.sub(r"<td", lambda m: f'<td data-head="{next(names, "")}"', found[0])

    body = re.sub(r"<tr>\s*<td.*?</tr>", row, table, flags=re.S)
    return body.replace("<table>", '<table class="sentences">', 1)


def _sortable(match: re.Match) -> str:
    if not match[2].strip():
        return f"<td{match[1]}></td>"  # a heading without words is none
    return f'<th{match[1]} scope="col"><button type="button">{match[2]}</button></th>'


def listed(text: str, site: Site, name: str) -> str:
    """A page in markdown with the list of all pages below its title, itself without link."""
    if not site:
        return text
    links = (
        f"**{each['label']}**" if each["name"] == name else f"[{each['label']}]({each['name']}.md)"
        for each in site
    )
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{' · '.join(links)}\n{rest}"


def write(path: Path, text: str, site: Site = ()) -> None:
    """A page as markdown and as HTML beside it. `site`: all pages of the report, as pages.site has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(listed(text, site, path.stem))
    path.with_suffix(".html").write_text(to_html(text, path.parent, site, path.stem))
