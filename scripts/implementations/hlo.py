"""Programs of XLA as text, of every framework that has them."""

import re

from measurement import precision


def dots(text):
    """{"bfloat16": {"dot": count}, "float32": ...} of XLA's optimised program; a loop's body counts once."""
    found, types = {precision.BFLOAT16: {}, precision.FLOAT32: {}}, {}
    for line in text.splitlines():
        types.update(re.findall(r"(\S+): (\w+)\[", line))  # parameters of a computation
        types.update(re.findall(r"%(\S+) = (\w+)\[", line))
        for operand in re.findall(r" dot\(%([^,]+),", line):
            counts = found[
                precision.BFLOAT16 if types.get(operand) == "bf16" else precision.FLOAT32
            ]
            counts["dot"] = counts.get("dot", 0) + 1
    return found
