"""What people write into files by mistake, and what somebody may put there on purpose: generated from right ones."""

import copy
import random
from collections.abc import Callable, Iterator

import yaml

HOSTILE = (
    *("../../outside", "/etc/passwd", "a b", "a;touch owned", "$(touch owned)", "`touch owned`"),
    *("a\nb", "name\n", "", "..", "*", "{split}", "%s", "<script>alert(1)</script>", "ünï"),
    "a" * 5000,
)
STRANGE = (float("nan"), float("inf"), -float("inf"), 10**30, -(10**30), 1e300)
UNPRINTED = ("a\x00b", "a\x1b[31mb", "a\x7fb")
Path = tuple


def places(content, where: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every value in nested mappings and lists, and where it stands."""
    yield where, content
    if isinstance(content, dict | list):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            yield from places(value, (*where, key))


def at(content, where: Path):
    for key in where:
        content = content[key]
    return content


def replaced(content, where: Path, value):
    """A copy of `content` with another value there."""
    if not where:
        return value
    changed = copy.deepcopy(content)
    at(changed, where[:-1])[where[-1]] = value
    return changed


def without(content, where: Path):
    changed = copy.deepcopy(content)
    del at(changed, where[:-1])[where[-1]]
    return changed


def with_key(content, where: Path, key, value):
    changed = copy.deepcopy(content)
    at(changed, where)[key] = value
    return changed


def anything(draw: random.Random, depth: int = 0):
    """Any value that YAML or JSON can hold."""
    kinds: list[Callable] = [
        lambda: None,
        lambda: draw.random() < 0.5,
        lambda: draw.choice([0, 1, -1, 3.0, 0.5, 2**31, 2**64, *STRANGE]),
        lambda: draw.choice(
            [*HOSTILE, *UNPRINTED, "null", "1e3", "2026-13-45", "[", "{a: 1}", "yes"]
        ),
        lambda: "".join(
            chr(draw.choice((draw.randrange(128), draw.randrange(0xD000)))) for _ in range(9)
        ),
    ]
    if depth < 3:
        kinds += [
            lambda: [anything(draw, depth + 1) for _ in range(draw.randrange(4))],
            lambda: {draw.choice(("a", "name", "x", 1, None)): anything(draw, depth + 1)},
        ]
    return draw.choice(kinds)()


def changed(content, draw: random.Random):
    """A copy of some content with one to three things wrong with it, or no longer the same at least."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        where, value = draw.choice(list(places(content)))
        kind = draw.randrange(6)
        if kind == 0 and where:
            content = without(content, where)
        elif kind == 1 and isinstance(value, dict):
            key = draw.choice(("extra", "extra", "extra", *HOSTILE, 7, None, True))
            content = with_key(content, where, key, anything(draw))
        elif kind == 2 and isinstance(value, list):
            content = replaced(content, where, [*value, anything(draw)])
        elif kind == 3:
            other = draw.choice(list(places(content)))[1]
            content = replaced(content, where, copy.deepcopy(other))
        elif kind == 4 and isinstance(value, str):
            content = replaced(
                content, where, scratched(value.encode(), draw).decode(errors="replace")
            )
        else:
            content = replaced(content, where, anything(draw))
    return content


def scratched(text: bytes, draw: random.Random) -> bytes:
    """A copy of a file with some bytes lost, doubled, exchanged or put in."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((0, 1, 1, 2, 10, 100)))
        piece = draw.choice(
            (
                *(b"", text[start:end] * 2, bytes([draw.randrange(256)]), b"\n", b"\t", b": "),
                *(b"[", b"{", b'"', b"\x00", b"\xff", b"&a *a", b"- ", b"#", b",", b"|", b"<<: "),
                *(b"!!python/object:os.system ", b"999999999999999999999", b"\xef\xbb\xbf"),
            )
        )
        text = text[:start] + piece + text[end:]
    if draw.random() < 0.1:
        text = text[: draw.randrange(len(text) + 1)]
    if draw.random() < 0.02:
        text += draw.choice((b"[", b"{a: ", b"- ")) * draw.choice((100, 5000))
    return text


def written(content) -> str:
    """YAML of any content."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(content, Dumper=dumper, allow_unicode=True, sort_keys=False)
