"""A wrong style: one gradient is a thousandth too long, and the update uses it consistently."""

from .model import Model


class WrongGradient(Model):
    def altered(self, found):
        if "lstm.0.recurrent" in found:
            found["lstm.0.recurrent"] = found["lstm.0.recurrent"] * 1.001
        return found


build = WrongGradient
