"""A model as a compressor: the better it predicts, the smaller the file."""
