"""Pages: blocks through report/page.md.j2 into Markdown, and that into HTML by the rules of a Markdown library."""

import html
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from reporting import layout
from reporting.sections import slug

REPORT = Path("report")
Site = Sequence[Mapping[str, str]]
Tokens = Sequence[Token]
SENTENCE = 70  # letters of a table's cell from which on it is one to be read
LINE = 120  # letters of a typical line of a table from which on it is too
FIGURE = re.compile(r"(?:[a-z0-9-]+/)*figures/[a-z0-9-]+/[A-Za-z0-9_-]+\.svg")
PAGE = re.compile(r"(?P<page>(?:\.\./|[a-z0-9-]+/)*[a-z0-9-]+)\.md(?P<rest>#.*)?")
INTERVAL = re.compile(r"\[([\d.,]+), ([\d.,]+)\]")


def environment(folder: Path = REPORT) -> jinja2.Environment:
    """Templates that stop at a name nobody gave them, with all filters of layout."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= layout.FILTERS
    return found


def markdown(title: str, about: Mapping, parts: Sequence[Mapping], figures: str = "figures") -> str:
    """A page: report/page.md.j2 with the blocks of `parts`, sections as analysed. `about`: what it says of itself;
    `figures`: the folder of its figures, seen from the page."""
    found = [block for part in parts for block in part["blocks"]]
    context = {"title": title, "about": about, "blocks": found, "figures": figures}
    return rendered("page.md.j2", context)


def rendered(template: str, context: Mapping) -> str:
    """What a template of report/ makes of its context, with one empty line where it leaves several."""
    text = environment().get_template(template).render(context)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _inlined(number: int, path: Path, text: str) -> str:
    """A figure as a part of a page: what its points say is shown in a page, which a picture does not do. Its names are made
    different from those of other figures."""
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\b(id=")([^"]+)"', rf'\1f{number}-\2"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1f{number}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bwidth="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(text, quote=True)}"', 1)
    return f'<figure class="drawn" tabindex="0" role="group" aria-label="Figure">{svg}</figure>'


class _Renderer(RendererHTML):
    """Figures inside the page, tables that scroll and are sorted by a click, intervals that stay on a line."""

    def image(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        """One of the page's own figures; what a reason or a label names is not fetched, and no other file read."""
        source, text = str(tokens[at].attrs["src"]), tokens[at].content
        path = env["folder"] / source
        if not FIGURE.fullmatch(source) or not path.is_file():
            return f"<p>{escapeHtml(text)}</p>"
        env["figures"] += 1
        return _inlined(env["figures"], path, text)

    def table_open(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        env["tables"] += 1
        wide = f'<div class="wide" tabindex="0" role="region" aria-label="Table {env["tables"]}">'
        return wide + self.renderToken(tokens, at, options, env)

    def table_close(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        return "</table></div>"

    def th_open(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        if not tokens[at + 1].content:
            return "<td>"  # a heading without words is none
        tokens[at].attrSet("scope", "col")
        return self.renderToken(tokens, at, options, env) + '<button type="button">'

    def th_close(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        return "</button></th>" if tokens[at - 1].content else "</td>"

    def text(self, tokens: Tokens, at: int, options: OptionsDict, env: dict) -> str:
        return INTERVAL.sub(r"[\1,&nbsp;\2]", escapeHtml(tokens[at].content))


def _headings(tokens: Tokens) -> list[tuple[int, str, str]]:
    """(level, anchor, words) of each heading, which gets the anchor; a second one of the same words a number."""
    found: list[tuple[int, str, str]] = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(each.content for each in inline.children or ())
            alike = re.compile(rf"{re.escape(slug(words))}(-\d+)?")
            count = sum(bool(alike.fullmatch(used)) for _, used, _ in found)
            anchor = slug(words) + (f"-{count}" if count else "")
            opening.attrSet("id", anchor)
            found.append((int(opening.tag[1]), anchor, words))
    return found


def _links(tokens: Tokens) -> None:
    """Links to pages lead to the HTML ones; a figure is a block of its own."""
    for at, token in enumerate(tokens):
        children = token.children or []
        for each in children:
            target = PAGE.fullmatch(str(each.attrs.get("href", "")))
            if each.type == "link_open" and target:
                each.attrSet("href", f"{target['page']}.html{target['rest'] or ''}")
        if len(children) == 1 and children[0].type == "image":
            tokens[at - 1].hidden = tokens[at + 1].hidden = True


def _sentences(tokens: Tokens) -> None:
    """A table of sentences is read line by line on a narrow screen: each of its cells says what it is."""
    for start in [at for at, token in enumerate(tokens) if token.type == "table_open"]:
        end = next(at for at in range(start, len(tokens)) if tokens[at].type == "table_close")
        inner = range(start, end)
        heads = [tokens[at + 1].content for at in inner if tokens[at].type == "th_open"]
        cells = [at for at in inner if tokens[at].type == "td_open"]
        letters = [len(tokens[at + 1].content) for at in cells]
        lines = max(1, len(cells) // len(heads))
        if max(letters, default=0) < SENTENCE and sum(letters) / lines < LINE:
            continue
        tokens[start].attrSet("class", "sentences")
        for place, at in enumerate(cells):
            tokens[at].attrSet("data-head", heads[place % len(heads)])


def to_html(text: str, folder: Path, site: Site = (), name: str = "", switch: Site = ()) -> str:
    """A self-contained HTML page of a Markdown one: its figures inside it, all pages and its contents at the side, its
    tables sorted by a click. `folder`: where its figures' paths begin; `site`, `switch`, `name`: as in `write`."""
    library = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    # HTML in it is text, as reasons may come from anywhere.
    tokens = library.parse(text)
    headings = _headings(tokens)
    _links(tokens)
    _sentences(tokens)
    state = {"folder": folder, "figures": 0, "tables": 0}
    body = library.renderer.render(tokens, library.options, state)
    title = next((words for level, _, words in headings if level == 1), "")
    contents = [(level, at, escapeHtml(words)) for level, at, words in headings if level == 2]
    context = {"title": escapeHtml(title), "contents": contents, "body": body}
    shell = environment().get_template("page.html.j2")
    return shell.render(context, site=site, name=name, switch=switch)


def listed(text: str, site: Site) -> str:
    """A page in Markdown with links to others below its title."""
    if not site:
        return text
    links = (f"[{each['label']}]({each['name']}.md)" for each in site)
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{' · '.join(links)}\n{rest}"


def write(path: Path, text: str, site: Site = (), switch: Site = ()) -> None:
    """A page as Markdown and as HTML beside it. `site`: all pages of the report, as pages.site has them; `switch`: the same page
    of other machines, as pages.switch has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(listed(text, site[:1]), encoding="utf-8")  # which leads to all
    path.with_suffix(".html").write_text(to_html(text, path.parent, site, path.stem, switch))
