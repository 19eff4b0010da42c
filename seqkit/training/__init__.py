"""One update of the weights, and the loop around it that yields events."""
