"""Keras implementations: one file a backend; `model.py` holds what they share, `classic.py` Keras 2.

Keras has one backend a process: a file names its own before it imports anything of this folder.
"""
