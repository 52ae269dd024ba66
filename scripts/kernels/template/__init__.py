"""The schedule template: what it computes from a cell and its surroundings, in real loops, as TIR functions."""
