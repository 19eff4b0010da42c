"""The network: equations, fused calls, and the tensors that run."""
