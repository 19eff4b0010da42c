"""Recurrent layers: the equations, cuDNN's calls, and kernels of their own (docs/how/kernel.md)."""
