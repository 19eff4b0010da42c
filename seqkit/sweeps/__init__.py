"""Many trainings: what they are, what starts them, and what chooses their settings."""
