"""Innermost loops of LLVM's assembly text, of x86-64, and what in them touches the stack."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FUNCTION = re.compile(r"\s*\.type\s+(\S+),@function")
JUMP = re.compile(r"j\w+\s(?:.*\s)?(\.\w+)$")
ENDS = re.compile(r"(?:jmpq?|retq?|ud2)(?:\s|$)")
MULTIPLY_ADD = re.compile(r"vfn?m(?:add|sub)")
STACK, FRAME = re.compile(r"\(%rsp\b"), re.compile(r"\(%rbp\b")


@dataclass(frozen=True)
class Loop:
    """An innermost loop of a function: its instructions, and those of them that read or write the stack."""

    function: str
    code: tuple[str, ...]
    stack: tuple[str, ...]

    @property
    def multiply_adds(self) -> int:
        """How many of its instructions multiply and add."""
        return sum(bool(MULTIPLY_ADD.match(one)) for one in self.code)


def innermost_loops(assembly: str) -> Iterator[Loop]:
    """The loops of every function that hold no other; `function`: the last one before that has a name of its own."""
    for name, lines in _functions(assembly):
        code = [line for line in lines if not line.endswith(":")]
        # rbp is a general register in a function that keeps no frame pointer.
        used = [STACK, FRAME] if "movq %rsp, %rbp" in code else [STACK]
        blocks, following = _flow(lines)
        bodies = _loops(following)
        for body in bodies:
            if not any(other < body for other in bodies):
                own = tuple(one for number in sorted(body) for one in blocks[number])
                stack = tuple(one for one in own if any(each.search(one) for each in used))
                yield Loop(name, own, stack)


def _functions(assembly: str) -> Iterator[tuple[str, list[str]]]:
    """(name, labels and instructions) of every function."""
    name, lines = "", []
    for raw in assembly.splitlines():
        if begins := FUNCTION.match(raw):
            if lines:
                yield name, lines
            name, lines = begins[1] if not begins[1].startswith(".L") else name, []
        line = " ".join(raw.split())
        if line.endswith(":") or (line and not line.startswith(".")):
            lines.append(line)
    if lines:
        yield name, lines


def _flow(lines: list[str]) -> tuple[list[list[str]], list[set[int]]]:
    """Basic blocks of a function, and which ones may follow each."""
    targets = {found[1] for line in lines if (found := JUMP.match(line))}
    blocks: list[list[str]] = [[]]
    begins: dict[str, int] = {}
    jumps: list[tuple[int, str]] = []
    falls: dict[int, bool] = {}
    for line in lines:
        if line.endswith(":"):
            if line[:-1] in targets:
                if blocks[-1]:
                    blocks.append([])
                begins[line[:-1]] = len(blocks) - 1
            continue
        number = len(blocks) - 1
        blocks[-1].append(line)
        jump, ends = JUMP.match(line), bool(ENDS.match(line))
        if jump:
            jumps.append((number, jump[1]))
        if jump or ends:
            falls[number] = not ends
            blocks.append([])
    following = [
        {number + 1} if falls.get(number, True) and number + 1 < len(blocks) else set()
        for number in range(len(blocks))
    ]
    for number, label in jumps:
        if label in begins:
            following[number].add(begins[label])
    return blocks, following


def _loops(following: list[set[int]]) -> list[frozenset[int]]:
    """The natural loops: what leads to an edge back to a block that all ways in pass."""
    before: list[set[int]] = [set() for _ in following]
    for number, after in enumerate(following):
        for one in after:
            before[one].add(number)
    found = set()
    for last, after in enumerate(following):
        for first in after:
            body, waiting = {first}, [last]
            while waiting:
                one = waiting.pop()
                if one not in body:
                    body.add(one)
                    waiting += before[one]
            if first == 0 or 0 not in body:
                found.add(frozenset(body))
    return list(found)
