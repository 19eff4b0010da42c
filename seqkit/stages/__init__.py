"""The stages of a training: from a config to what is ready to run."""
