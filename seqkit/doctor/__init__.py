"""What data are like and what to train on them, told before a training."""
