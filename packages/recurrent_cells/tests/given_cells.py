"""The cells that tests run on, beside the predefined ones."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples" / "cells").glob("*.py"))}
HEADS = ROOT / "tests" / "every_product.py"
MATRICES = ROOT / "tests" / "every_matrix.py"
MANY = ROOT / "tests" / "every_word.py"
