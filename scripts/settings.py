"""The configuration, validated, and what it means on this machine."""

import functools
import operator
import sys
from pathlib import Path

import jsonschema
import yaml

from environments import EnvironmentProblem
from measurement import machine

SCHEMAS = Path("workflow/schemas")


@functools.cache
def schema(name: str) -> dict:
    """One file of workflow/schemas."""
    return yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text())


def problems(content, name: str) -> list[str]:
    """What is wrong with `content`, a line each: where, what, and what the key is for."""
    found = []
    validator = jsonschema.Draft202012Validator(schema(name))
    for error in sorted(validator.iter_errors(content), key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, error.absolute_path)) or "top level"
        about = error.schema.get("description") if isinstance(error.schema, dict) else None
        found.append(f"{where}: {error.message}" + (f" ({about})" if about else ""))
    return found


def require_valid(path: str, name: str) -> None:
    """Stop with one line a mistake unless a YAML file is what its schema says."""
    try:
        content = yaml.safe_load(Path(path).read_text())
    except yaml.YAMLError as error:
        sys.exit(f"{path} is not YAML: {error}")
    if found := problems(content, name):
        sys.exit(f"{path} is not valid:\n" + "".join(f"  {line}\n" for line in found))


def _without_null(value):
    """`null` on the command line arrives as the word, which would do for a folder's name."""
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items()}
    return None if value == "null" else value


def _parsed(value):
    """Values of `--config KEY=VALUE` arrive as strings, nested ones too; read them as YAML."""
    if isinstance(value, str):
        try:
            return yaml.safe_load(value)
        except yaml.YAMLError:
            return value
    return value


def _with_types(config: dict, name: str) -> dict:
    """Read each string that stands where the schema wants another type: `stride: "2"`."""
    validator = jsonschema.Draft202012Validator(schema(name))
    for error in list(validator.iter_errors(config)):
        if isinstance(error.instance, str) and error.absolute_path:
            *parents, key = error.absolute_path
            functools.reduce(operator.getitem, parents, config)[key] = _parsed(error.instance)
    return config


def _merged(base: dict, over: dict) -> dict:
    return {
        **base,
        **{
            key: _merged(base[key], value)
            if isinstance(value, dict) and isinstance(base.get(key), dict)
            else value
            for key, value in over.items()
        },
    }


def validated(config: dict, default: str = "config/config.yaml") -> dict:
    """The configuration with every string that stands for another type read as such, or a stop with
    one line a mistake. `devices: auto` becomes the devices of this machine."""
    base = yaml.safe_load(Path(default).read_text())
    config = _merged(base, {key: _without_null(_parsed(value)) for key, value in config.items()})
    config = _with_types(config, "config")
    if found := problems(config, "config"):
        sys.exit("The configuration is not valid:\n" + "".join(f"  {line}\n" for line in found))
    for name in config["documents"]:
        path = Path("config/documents") / f"{name}.yaml"
        if not path.exists():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
            sys.exit(f"The configuration is not valid:\n  documents: no {path}; there are: {known}")
        require_valid(str(path), "document")
    require_valid("config/implementations.yaml", "implementations")
    if config["devices"] == "auto":
        config["devices"] = ["cpu", "gpu"] if machine.gpus() else ["cpu"]
    return config


def stops_with_a_line(function):
    """Turn a problem with an environment file or an interpreter into one line, without a trace."""

    @functools.wraps(function)
    def wrapped(*arguments):
        try:
            return function(*arguments)
        except EnvironmentProblem as problem:
            sys.exit(f"environments: {problem}")

    return wrapped


def usable_cores() -> int:
    """Physical cores of this machine that may be used."""
    return machine.usable_cores()
