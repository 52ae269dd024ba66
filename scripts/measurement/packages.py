"""Print the interpreter's version and its installed packages as JSON: {"python", "packages", "installed"}."""

import hashlib
import json
import os
import platform
import re
import sys

SITES = ("site-packages", "dist-packages")
# What names a package's version, a folder or a file, and in it the digests of its files, where an installer left them.
NAMED, DIGESTS = (".dist-info", ".egg-info"), "RECORD"


def installed():
    """{normalised name: version} of every installed distribution."""
    try:
        from importlib import metadata

        pairs = [(item.metadata["Name"], item.version) for item in metadata.distributions()]
    except ImportError:  # before Python 3.8
        import pkg_resources

        pairs = [(item.project_name, item.version) for item in pkg_resources.working_set]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs if name}


def mark():
    """A digest of what is installed, without reading what packages say of themselves: of their versions, and of the
    lists of their files. A process that uses them takes some milliseconds for it."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    found = hashlib.sha256()
    for site in sorted({os.path.realpath(path) for path in sys.path if path not in given}):
        if os.path.basename(site) not in SITES or not os.path.isdir(site):
            continue
        for name in sorted(name for name in os.listdir(site) if name.endswith(NAMED)):
            found.update(name.encode() + b"\n")
            digests = os.path.join(site, name, DIGESTS)
            if os.path.exists(digests):
                with open(digests, "rb") as stream:
                    found.update(hashlib.sha256(stream.read()).digest())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    found = {"python": platform.python_version(), "packages": installed(), "installed": mark()}
    print(json.dumps(found))
