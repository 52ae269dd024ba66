"""TensorFlow implementations: one file a style; `model.py` holds what they share."""
