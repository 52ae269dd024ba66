"""Another right style, so that an edit of one file has a cell it must not touch."""

from .model import Model

build = Model
