"""The schedule template, with the schedule that its search found."""

from ..build import build_template
from ..search.database import ScheduleDatabase
from ..search.tuning import tune

__all__ = ["build", "tune"]


def build(spec, target, folder, database, vocabulary, classes=None):
    schedule = ScheduleDatabase(spec.tuned, target, database).best()
    build_template(spec, schedule, target, folder, vocabulary, classes)
