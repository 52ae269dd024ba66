"""Print the interpreter's version and its installed packages as JSON: {"python", "packages"}."""

import json
import platform
import re


def installed():
    """{normalised name: version} of every installed distribution."""
    try:
        from importlib import metadata

        pairs = [(item.metadata["Name"], item.version) for item in metadata.distributions()]
    except ImportError:  # before Python 3.8
        import pkg_resources

        pairs = [(item.project_name, item.version) for item in pkg_resources.working_set]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs if name}


if __name__ == "__main__":
    print(json.dumps({"python": platform.python_version(), "packages": installed()}))
