"""The schedule template with the schedule that tuning found: one function for all layers and steps, each core takes its rows of the batch through all of them. In training, a function for each layer and pass, and the logits of some tokens at a time."""

from implementations.contract import Unsupported

from .model import Kernel, LanguageModel, TrainedLanguageModel


def build(workload, weights, device, phase):
    if phase == "training" and not workload.vocabulary:
        raise Unsupported("bare layers have no loss to train by")
    if phase == "training":
        return TrainedLanguageModel(workload, weights)
    if workload.vocabulary:
        return LanguageModel(workload, weights)
    return Kernel(workload, weights, kind="template")
