"""Sound: as numbers, in files, in pictures."""
