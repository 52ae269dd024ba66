"""Statistics: what processes took becomes estimates, intervals and verdicts. (Not `statistics`, which is the standard library's.)"""
