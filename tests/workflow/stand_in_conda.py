"""A stand-in for conda: what Snakemake asks of it, done by rattler's solver and installer.

`lay_out` makes a folder like conda's own, with `bin/conda`, `bin/activate` and, for conda-forge, a channel of two
packages: an interpreter of this machine, repacked (its standard library stays where it is), and its pip.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import rattler
import yaml
from rattler.index import index_fs

CONDA = """\
#!/bin/sh
exec '{python}' '{script}' '{root}' "$@"
"""
ACTIVATE = """\
export CONDA_PREFIX="$1"
export PATH="$1/bin:$PATH"
"""
PIP_LINK = {
    "noarch": {"type": "python", "entry_points": ["pip = pip._internal.cli.main:main"]},
    "package_metadata_version": 1,
}


def pack(channel: Path, folder: Path, index: dict, files: dict[str, Path], **info: dict) -> None:
    """A conda package in `channel`: `files` by their names in it, below `folder`, with info/*.json."""
    paths = [
        {"_path": name, "path_type": "softlink" if file.is_symlink() else "hardlink"}
        for name, file in files.items()
    ]
    described = {"index": index, "paths": {"paths": paths, "paths_version": 1}, **info}
    (folder / "info").mkdir()
    for name, content in described.items():
        (folder / "info" / f"{name}.json").write_text(json.dumps(content))
    target = channel / index["subdir"]
    target.mkdir(parents=True, exist_ok=True)
    name = "{name}-{version}-{build}.tar.bz2".format(**index)
    with tarfile.open(target / name, "w:bz2", compresslevel=1) as archive:
        archive.add(folder / "info", "info")
        for name, file in files.items():
            archive.add(file, name)


def lay_out(root: Path, python: str, version: str) -> None:
    """Make the stand-in in `root`, with this interpreter in its channel."""
    subprocess.run([python, "-m", "venv", "--symlinks", root / "unpacked"], check=True)
    unpacked, minor = root / "unpacked", ".".join(version.split(".")[:2])
    site = unpacked / "lib" / f"python{minor}" / "site-packages"
    interpreter = [unpacked / "pyvenv.cfg", *(unpacked / "bin").glob("python*")]
    pip = [file for file in site.glob("pip*/**/*") if file.suffix != ".pyc" and file.is_file()]
    (metadata,) = site.glob("pip-*.dist-info")
    common = {"build": "0", "build_number": 0, "depends": []}
    pack(
        root / "conda-forge",
        unpacked,
        {"name": "python", "version": version, "subdir": str(rattler.Subdir.current())} | common,
        {str(file.relative_to(unpacked)): file for file in interpreter},
    )
    pack(
        root / "conda-forge",
        site,
        {"name": "pip", "version": metadata.stem.removeprefix("pip-"), "subdir": "noarch"}
        | common
        | {"noarch": "python", "depends": ["python"]},
        {f"site-packages/{file.relative_to(site)}": file for file in pip},
        link=PIP_LINK,
    )
    asyncio.run(index_fs(root / "conda-forge"))
    (root / "bin").mkdir()
    (root / "bin/activate").write_text(ACTIVATE)
    command = root / "bin/conda"
    command.write_text(CONDA.format(python=sys.executable, script=__file__, root=root))
    command.chmod(0o755)


async def create(root: Path, file: Path, prefix: Path) -> None:
    """Create the environment of a file: conda's part by rattler, the lines under `pip:` by its pip."""
    content = yaml.safe_load(file.read_text())
    here = rattler.ChannelConfig(channel_alias=f"{root.as_uri()}/")
    records = await rattler.solve(
        [rattler.Channel(name, here) for name in content["channels"] if name != "nodefaults"],
        [dependency for dependency in content["dependencies"] if isinstance(dependency, str)],
        gateway=rattler.Gateway(cache_dir=root / "cache"),
        virtual_packages=rattler.VirtualPackage.detect(),
    )
    await rattler.install(records, prefix, cache_dir=root / "cache", show_progress=False)
    for lines in (d["pip"] for d in content["dependencies"] if isinstance(d, dict)):
        requirements = file.with_suffix(".requirements.txt")
        requirements.write_text("\n".join(lines) + "\n")
        pip = [prefix / "bin/python", "-m", "pip", "install", "-U", "-r", requirements]
        subprocess.run([*pip, "--exists-action=b"], check=True)


def main(root: Path, arguments: list[str]) -> None:
    """Understand the command lines of Snakemake 9.27 and no others."""
    match arguments:
        case ["--version"]:
            print("conda 24.7.1")  # the oldest that Snakemake takes
        case ["info", "--json"]:
            print(
                json.dumps({"conda_prefix": str(root), "platform": str(rattler.Subdir.current())})
            )
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create", "--quiet", "--no-default-packages", *options]:
            parser = argparse.ArgumentParser()
            parser.add_argument("--file", type=Path, required=True)
            parser.add_argument("--prefix", type=Path, required=True)
            named = parser.parse_args(options)
            asyncio.run(create(root, named.file, named.prefix))
        case ["clean", "-y", "--tarballs"]:
            pass
        case _:
            sys.exit(f"The stand-in for conda knows no {arguments}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
