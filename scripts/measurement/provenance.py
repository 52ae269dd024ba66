"""Whether what a process has loaded is what its result's name says: the workflow's own files, packages, and what lies
beside the results that it reads.

Measuring processes run from the run's copy of the scripts (plan/copies.py), where the plan has noted which files each
result is of. Whatever else has been done meanwhile, a file that the plan did not count, or that is another one now, makes
a result no result.
"""

import os
import sys

from measurement import packages
from measurement.record import damage, read_result, sha256

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(SCRIPTS)  # of the project, or of the run's copy
COMPILED = (".c", ".cu")  # what a module compiles has its name
LISTS = "planned"  # a folder of a copy
AGAIN = "; its results do not count: run the same command again"


class Changed(Exception):
    """What is loaded is not what was planned; the message says what."""


def list_path(root, digest):
    """The file of a copy that says which files a digest of sources is of."""
    return os.path.join(root, LISTS, digest + ".json")


def files():
    """The workflow's own files that this process has loaded, and what they compile: `scripts/...`, or a path where they
    are another folder's."""
    found = set()
    own, project = SCRIPTS + os.sep, os.path.join(os.getcwd(), "scripts") + os.sep
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        path = path and os.path.abspath(path)
        if path and path.startswith((own, project)):
            beside = [os.path.splitext(path)[0] + suffix for suffix in COMPILED]
            found.update([path] + list(filter(os.path.exists, beside)))
    return {os.path.relpath(path, ROOT) if path.startswith(own) else path for path in found}


def require_planned(digest):
    """Raise Changed unless all files that this process has loaded were planned, and all that were planned are as they
    were. Where scripts run from the project itself, by hand, there is no plan to hold them to."""
    if not os.path.isdir(os.path.join(ROOT, LISTS)):
        return
    noted = list_path(ROOT, digest)
    wrong = damage(noted) if os.path.exists(noted) else "it is missing"
    if wrong:
        raise Changed("%s is damaged (%s)%s" % (noted, wrong, AGAIN))
    planned = read_result(noted)["files"]
    for path in sorted(files() - set(planned)):
        raise Changed("%s was loaded, but the plan does not include it%s" % (path, AGAIN))
    for path, content in sorted(planned.items()):
        _require(os.path.join(ROOT, path), content)


def require(held_to):
    """Raise Changed unless what this process has loaded is what its job's result is named after: {"sources": a digest,
    "environment": its record, "beside": see below}."""
    require_planned(held_to["sources"])
    require_packages(held_to["environment"])
    require_beside(held_to["beside"])


def _require(path, content):
    """Raise Changed unless a file is as it was planned."""
    try:
        wrong = "" if sha256(path) == content else "was changed"
    except OSError:
        wrong = "was deleted"
    if wrong:
        raise Changed("%s %s since the run was planned%s" % (path, wrong, AGAIN))


def require_beside(read):
    """Raise Changed unless what lies beside some results, {path: content}, such as a kernel's library, is what their
    contents name."""
    for path, content in sorted(read.items()):
        for name, noted in sorted(content.get("sha256_beside", {}).items()):
            _require(os.path.join(os.path.dirname(path), name), noted)


def require_packages(environment):
    """Raise Changed unless this interpreter's packages are those of its environment's record."""
    if "installed" not in environment or packages.mark() == environment["installed"]:
        return
    before, now = environment["packages"], packages.installed()
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            has = now.get(name, "missing")
            told = "%s was %s and is %s" % (name, before.get(name, "missing"), has)
            break
    else:
        told = "files of another build were installed"
    again = "; delete %s to build it again" % sys.prefix
    raise Changed(
        "environment %s was modified: %s%s"
        % (environment["environment"], told, again if environment["builder"] == "venv" else AGAIN)
    )
