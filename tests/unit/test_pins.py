"""Pins in environment files: which are meant, and what else of a file changes."""

import pytest

from plan import pins

FILE = """\
# torch==1.0 is no pin here
dependencies:
  - python =3.11
  - pip:
      - --extra-index-url https://example.org/torch==2
      - torch==2.13.0  # why
      - tensorflow-cpu==2.20.0; sys_platform == "linux"
      - tensorflow==2.20.0; sys_platform != "linux"
      - tensorflow[and-cuda]==2.20.0
      - torch-extra==2.13.0
"""


def test_only_the_version_changes() -> None:
    found = pins.with_version(FILE, "torch", "2.14.0")
    assert found == FILE.replace("- torch==2.13.0", "- torch==2.14.0")
    assert pins.with_version(found, "torch", "2.13.0") == FILE


def test_builds_of_a_package_go_together() -> None:
    for name in ("tensorflow", "TensorFlow_CPU"):
        found = pins.with_version(FILE, name, "2.21.0")
        assert found == FILE.replace("2.20.0", "2.21.0")
        assert pins.versions_in(FILE, name) == ["2.20.0"] * 3


def test_files_of_today_and_of_one_environment() -> None:
    names = sorted(file.stem for file in pins.files_with("torch"))
    assert {"pytorch", "pytorch-cuda", "keras"} <= set(names)
    assert not any("-20" in name for name in names)
    old = sorted(file.stem for file in pins.files_with("torch", "pytorch-2019"))
    assert old == ["pytorch-2019", "pytorch-2019-cuda"]
    assert pins.names_of(pins.files_with("torch", "pytorch-2019")) == ["pytorch-2019"]
    # Environments in which no cell runs, such as the report's, are not measured and not bumped.
    assert not {"report", "corpus"} & {file.stem for file in pins.files_with("numpy")}


@pytest.mark.parametrize(
    ("package", "within", "said"),
    [
        ("abacus", None, r"pins abacus\.$"),
        ("lasagne", None, r"pins lasagne; .*: lasagne-2018 \(IN=lasagne-2018\)"),
        ("torch", "tvm", r"^envs/tvm\.yaml does not pin torch; .*: flashrnn, keras, pytorch"),
    ],
)
def test_package_that_is_nowhere(package: str, within: str | None, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        pins.files_with(package, within)


@pytest.mark.parametrize(
    ("text", "version"),
    [(" torch == 2.14.0+cpu ", "2.14.0+cpu"), ("torch", None), ("pytorch", None)],
)
def test_reading(text: str, version: str | None) -> None:
    assert pins.Pin.read(text) == pins.Pin("torch", version)


@pytest.mark.parametrize("text", ["torch=2.14", "torch==latest", "==2", "", "torch>=2"])
def test_no_pin(text: str) -> None:
    with pytest.raises(SystemExit, match="is not a pin"):
        pins.Pin.read(text)


def test_releases_are_the_last_patches_since_one() -> None:
    known = ["2.0rc1", "1.20.1", "1.20.0", "1.9.3", "1.18.1", "1.18.0", "1.19.2"]
    assert pins.releases(known, "1.18") == ["1.18.1", "1.19.2", "1.20.1"]


def test_repository_has_one_version_of_a_package_a_generation() -> None:
    """So that a bump is of one version: what several environments of today pin, they pin alike."""
    for package in ("torch", "tensorflow", "numpy"):
        texts = pins.files_with(package).values()
        versions = {version for text in texts for version in pins.versions_in(text, package)}
        assert len(versions) == 1, (package, versions)
