"""A right style."""

from .model import Model

build = Model
