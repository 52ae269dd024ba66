"""The first page in Markdown, with a static figure, and in HTML, with the explorer."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from markdown_it import MarkdownIt

from reporting import explorer, page, pages
from reporting.front import Front
from reporting.talks import Figure

NAME, FIGURES = "index", "figures/talks"
# A link to a view of the explorer, which Markdown has not.
VIEW = r'\[([^\]]*)\]\(#[^) ]* "[^"]*"\)'


def of_own_cells(found: Sequence[Mapping]) -> list[str]:
    """Lines that lead to the pages of cells of somebody's own."""
    return [
        f"A cell of your own: [{each['document']}]({each['document']}.md). {each['said']}".strip()
        for each in found
    ]


def _inline(text: str) -> str:
    """Markdown within a line as HTML; links lead to views of the explorer and to HTML pages, all else that looks like a link or
    a picture is text, as names may come from anywhere."""
    markdown = MarkdownIt("commonmark", {"html": False}).disable("image")
    markdown.validateLink = lambda url: bool(re.fullmatch(r"#.*|[a-z0-9-]+\.md", url))
    found = markdown.renderInline(text)
    return re.sub(r'href="([a-z0-9-]+)\.md', r'href="\1.html', found)


def write(
    folder: Path,
    front: Front,
    figures: Sequence[Figure],
    data: Mapping,
    site: page.Site,
    switch: page.Site,
    own: Sequence[str],
) -> None:
    """index.md and index.html. `figures`: those in FIGURES, the first of them the page's; `data`: the explorer's; `site`,
    `switch`: as in page.write."""
    templates = page.environment()
    templates.filters["md"] = _inline
    title = pages.settings()["titles"][NAME]
    shown = next(iter(figures), None)
    figure = f"![{shown.message}]({FIGURES}/{shown.name}.svg)" if shown else ""
    context = {"title": title, "front": front, "own": own}
    text = re.sub(VIEW, r"\1", page.rendered("index.md.j2", context | {"figure": figure}))
    linked = {NAME, *(each.name for each in front.documents)}  # these in a table
    others = [each for each in site if each["name"] not in linked]
    (folder / f"{NAME}.md").write_text(page.listed(text, others))
    context["explorer"] = explorer.page_part(data)
    body = templates.get_template("explorer/front.html.j2").render(context)
    shell = templates.get_template("page.html.j2")
    html = shell.render(title=title, contents=[], body=body, site=site, name=NAME, switch=switch)
    (folder / f"{NAME}.html").write_text(html)
