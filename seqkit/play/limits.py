"""What clients may ask of a server, all of them together and each by itself."""

CONNECTIONS = 128
"""At once; each of them may send a few megabytes."""
SAMPLES = 16
"""That take turns, each with an engine in memory."""
WAITING = 64
"""Samples that wait for such a place; who asks after them is sent away."""
BODY = {False: 1 << 20, True: 8 << 20}
"""Bytes that may be sent to a model of text, and of sound."""
PATIENCE = 30
"""Seconds for which a client may neither send nor take anything."""
