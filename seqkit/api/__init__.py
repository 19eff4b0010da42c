"""seqkit from Python: `load` a model, `train` one. The commands are thin over the same calls."""
