"""The commands: each builds what it needs from the config, runs it, and writes the results."""
