"""Environment files: what is read from them, and what makes an environment another one."""

import sys
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from plan import environments, locks
from plan.environments import EnvironmentProblem, Specification
from tests.conftest import ROOT

FILE = """\
name: lab
channels: [conda-forge]
dependencies:
  - python {python}
  - pip{bootstrap}
  - pip:
      - --extra-index-url https://example.org/simple
      - torch=={torch}
      - Some_Package[extra]==1.0.post1
      - elsewhere==9.9; os_name == "nowhere"
      - here==2.0; os_name != "nowhere"
      - unpinned>=3
"""
# What conda-forge has for linux-64, and the Python that each pip needs. They were seen installed from there by conda
# (3.7.12 with pip 24.0 in 2026); pip's own metadata have the bounds. Every release stays on that channel.
PYTHONS = [f"3.{minor}" for minor in range(6, 15)]
PIPS = {"21.3.1": ">=3.6", "24.0": ">=3.7", "25.1.1": ">=3.9,<3.13.0a0"}
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def specification(
    folder: Path,
    text: str | None = None,
    python: str = ">=3.10,<3.14",
    bootstrap: str = "",
    torch: str = "2.13.0",
) -> Specification:
    """The environment file `lab.yaml` with these values, or this text, parsed."""
    path = folder / "lab.yaml"
    path.write_text(text or FILE.format(python=python, bootstrap=bootstrap, torch=torch))
    environments.load.cache_clear()
    return environments.load(str(path))


def test_pins_of_this_platform(tmp_path: Path) -> None:
    found = specification(tmp_path)
    assert found.name == "lab"
    assert found.pins == {"torch": "2.13.0", "some-package": "1.0.post1", "here": "2.0"}
    assert "--extra-index-url https://example.org/simple" in found.pip
    assert found.bootstrap == ()
    assert specification(tmp_path, bootstrap="=21.3.1").bootstrap == ("pip==21.3.1",)


@pytest.mark.parametrize(
    ("conda", "inside", "outside"),
    [
        (">=3.10,<3.14", ["3.10.0", "3.13.9"], ["3.9.18", "3.14.0"]),
        ("=3.7", ["3.7.0", "3.7.16"], ["3.8.0", "3.70.1"]),
        ("==3.5.*", ["3.5.10"], ["3.6.15"]),
        ("==3.11.7", ["3.11.7"], ["3.11.8"]),
    ],
)
def test_conda_versions_of_python(tmp_path, conda, inside, outside) -> None:
    python = specification(tmp_path, python=conda).python
    assert all(version in python for version in inside)
    assert not any(version in python for version in outside)


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: [pip]",
        "just words",
        "dependencies: [python >=x]",
        "dependencies: [python, numpy=1.0]",  # which conda alone would install
        "dependencies: [python, pip >=21]",
        "dependencies: [python, pip, {pip: numpy==1.0}]",
        "dependencies: [python, pip, {pip: [numpy=1.0]}]",
        "dependencies: [python, python =3.7]",
        "[unclosed",
    ],
)
def test_no_environment_file(tmp_path: Path, text: str) -> None:
    wrong = "YAML" if text == "[unclosed" else "an environment file"
    with pytest.raises(EnvironmentProblem, match=rf"lab\.yaml is not {wrong}: "):
        specification(tmp_path, text)


def test_mismatches(tmp_path: Path) -> None:
    found = specification(tmp_path)
    right = {"torch": "2.13.0+cpu", "some-package": "1.0.post1", "here": "2.0"}
    assert found.mismatches(right) == []
    (wrong,) = found.mismatches(right | {"torch": "2.12.1"})
    assert wrong.startswith("torch 2.13.0 ") and "2.12.1" in wrong
    del right["here"]
    (missing,) = found.mismatches(right)
    assert missing.startswith("here 2.0 ")


def test_lacking(tmp_path: Path) -> None:
    """Versions and kinds of builds are no lack."""
    found = specification(tmp_path)
    assert found.lacking({"torch": "1.0", "some-package": "2", "here": "2"}) == []
    assert found.lacking({"torch": "1.0"}) == ["some-package", "here"]
    cpu = Specification("lab", SpecifierSet(), (), ("tensorflow-cpu==2.0",))
    assert cpu.lacking({"tensorflow": "2.1"}) == []
    assert found.lacking({"torch-cpu": "1", "some-package": "2", "here": "2"}) == []


def test_interpreter_named_by_a_pattern() -> None:
    interpreters = {"*": "python3", "tvm": "/opt/tvm/bin/python"}
    names = ("tvm", "pytorch", "tensorflow-2019")
    found = [environments.named(name, interpreters) for name in names]
    assert found == ["/opt/tvm/bin/python", "python3", "python3"]
    assert environments.named("pytorch", {"tvm": "python3"}) is None


def mark(found: Specification, builder: str = "venv", lock: locks.Lock | None = None) -> str:
    return environments.fingerprint(found, builder, sys.executable, lock)


class TestFingerprint:
    """Named by eight digits: the parsed pins, the builder, the interpreter's version."""

    def test_versions_and_builder_count_and_comments_do_not(self, tmp_path: Path) -> None:
        changes = {"torch": "2.13.1"}, {"python": ">=3.11,<3.14"}, {"bootstrap": "=21.3.1"}
        marks = [mark(specification(tmp_path, **change)) for change in ({}, *changes)]
        marks += [mark(specification(tmp_path), each) for each in ("conda", "interpreter")]
        assert len(set(marks)) == 6 and all(len(each) == 8 for each in marks)
        text = FILE.format(python=">=3.10,<3.14", bootstrap="", torch="2.13.0")
        edited = "# about it\n" + text.replace("  - pip\n", "\n  - pip  # and this\n")
        assert mark(specification(tmp_path, edited)) == marks[0]

    def test_version_and_packages_of_the_interpreter_count(self, tmp_path, monkeypatch) -> None:
        found, marks = specification(tmp_path), set()
        for python, numpy in (("3.11.7", "1.0"), ("3.11.8", "1.0"), ("3.11.8", "1.1")):
            facts = {"python": python, "packages": {"numpy": numpy}}
            monkeypatch.setattr(environments, "_version", lambda _, python=python: python)
            monkeypatch.setattr(environments, "inspect", lambda _, facts=facts: facts)
            marks |= {mark(found), mark(found, "interpreter")}
        assert len(marks) == 2 + 3  # a virtual environment has packages of its own

    def test_locked_versions_count_and_digests_do_not(self, tmp_path: Path) -> None:
        found = specification(tmp_path)
        one, two, other = (("1", ("0" * 64,)), ("2", ("0" * 64,)), ("2", ("1" * 64,)))
        marks = [mark(found)]
        for digit, beneath in (("0", one), ("0", two), ("1", other)):
            lock = locks.Lock(f"lab-{digit}.txt", HERE, digit * 8, {"beneath": beneath})
            marks.append(mark(found, lock=lock))
        assert len(set(marks)) == 3 and marks[2] == marks[3]


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python", "/bin/true"])
def test_inspect_what_is_no_interpreter(python: str) -> None:
    with pytest.raises(EnvironmentProblem, match=f"{python} .*Python interpreter"):
        environments.inspect(python)


def test_interpreters_that_are_another_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "glob", refused)
    assert sys.executable in [*environments._candidates()]


def here(conda: bool = False, **settings: object) -> dict:
    """How the environment `lab` of envs/ in the working folder is had."""
    for each in (environments.load, environments._here):
        each.cache_clear()
    settled = {"devices": ["cpu"], "interpreters": {}, "environment_folder": "built"}
    return environments.here("lab", settled | settings, conda)


def write_lock(lab: Path, python: str) -> Path:
    """A lock of envs/lab.yaml for a Python, whose version is that of a package beneath."""
    environments.load.cache_clear()
    packages = {"torch": ("1", ("0" * 64,)), "beneath": (python, ("0" * 64,))}
    path = locks.path_of("envs/lab.yaml", python)
    pins = locks.digest_of_pins(environments.load(str(lab)).pip)
    locks.write(locks.Lock(str(path), python, pins, packages), python, "23")
    return path


class TestHere:
    """How an environment is had on this machine."""

    @pytest.fixture(autouse=True)
    def lab(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """envs/lab.yaml in the working folder."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "envs").mkdir()
        text = FILE.format(python=f"={HERE}", bootstrap="", torch="1")
        specification(tmp_path / "envs", f"# why\n{text}")
        return tmp_path / "envs/lab.yaml"

    def test_virtual_environment(self, lab: Path) -> None:
        has = here()
        assert (has["source"], has["builder"]) == ("envs/lab.yaml", "venv")
        assert has["folder"] == f"built/lab-{has['fingerprint']}"
        assert environments.python(has) == f"{has['folder']}/bin/python"
        assert environments.conda_file(has) is None

    def test_locked(self, lab: Path) -> None:
        plain = here()
        write_lock(lab, "3.5")
        assert here() == plain  # of another Python
        path = write_lock(lab, HERE)
        has = here()
        assert (plain["lock"], has["lock"]) == (None, str(path))
        assert has["fingerprint"] != plain["fingerprint"]
        assert here(interpreters={"lab": sys.executable})["lock"] is None
        lab.write_text(lab.read_text().replace("torch==1", "torch==2"))  # a bump: resolved anew
        assert here()["lock"] is None

    def test_no_lock_stops_with_a_line(self, lab: Path) -> None:
        write_lock(lab, HERE).write_text("torch\n")
        with pytest.raises(SystemExit, match=r"^environments: \S+/lab\.txt is not a lock: "):
            here()

    def test_conda_builds_what_is_locked(self, lab: Path) -> None:
        """With the Python that it was locked for, of those that the file allows the oldest."""
        specification(lab.parent, "# why\n" + FILE.format(python=">=3.8", bootstrap="", torch="1"))
        for python in ("3.7", "3.9", "3.10"):
            write_lock(lab, python)
        has = here(conda=True)
        content = yaml.safe_load(Path(environments.conda_file(has)).read_text())
        assert content["channels"] == ["conda-forge"]
        locked = (f"{each} --hash=sha256:{'0' * 64}" for each in ("beneath==3.9", "torch==1"))
        pip = ["--extra-index-url https://example.org/simple", *locked]
        assert content["dependencies"] == ["python =3.9", "pip", {"pip": pip}]

    def test_no_interpreter(self, lab: Path) -> None:
        """Snakemake's own records why."""
        specification(lab.parent, python="==3.5.*")
        has = here()
        assert has["interpreter"] is None and environments.python(has) == sys.executable

    def test_named_interpreter(self, lab: Path) -> None:
        has = here(interpreters={"lab": sys.executable}, conda=True)
        assert (has["builder"], environments.python(has)) == ("interpreter", sys.executable)

    def test_cuda_has_a_file_of_its_own(self, lab: Path) -> None:
        assert here(devices=["cpu", "gpu"])["source"] == "envs/lab.yaml"
        lab.with_name("lab-cuda.yaml").write_text(lab.read_text())
        assert here(devices=["cpu", "gpu"])["source"] == "envs/lab-cuda.yaml"
        assert here()["source"] == "envs/lab.yaml"


@pytest.mark.parametrize("file", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda file: file.stem)
def test_conda_forge_has_the_python_and_the_pip_of_each_file(file: Path) -> None:
    """tests/workflow/test_conda.py solves some."""
    assert yaml.safe_load(file.read_text())["channels"] == ["conda-forge", "nodefaults"]
    found = environments.load(str(file))
    pips = [pip.partition("==")[2] for pip in found.bootstrap] or PIPS
    needed = [found.python & SpecifierSet(PIPS[pip]) for pip in pips]
    assert any(version in both for version in PYTHONS for both in needed)
