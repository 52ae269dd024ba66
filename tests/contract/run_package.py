"""Run a file of packages/recurrent_cells/tests in PyTorch's environment, by pytest of the workflow's.

python run_package.py PACKAGES FILE
"""

import json
import sys


def main() -> None:
    _, packages, file = sys.argv
    sys.path.append(packages)  # behind those of the environment
    import pytest

    failed = pytest.main(["-p", "no:cacheprovider", f"packages/recurrent_cells/tests/{file}"])
    print(json.dumps({"failed": int(failed)}))
    sys.exit(failed)


if __name__ == "__main__":
    main()
