"""What the operating system tells: the output of its commands, and its files."""

import subprocess


def output(*command):
    """What a command prints, or None if it is not there or fails."""
    try:
        return subprocess.check_output(
            command, stderr=subprocess.DEVNULL, universal_newlines=True, timeout=20
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return None


def read(path):
    try:
        with open(path) as stream:
            return stream.read().strip()
    except OSError:
        return None


def integers(texts):
    """The numbers among some texts."""
    return [int(text) for text in texts if text.isdigit()]
