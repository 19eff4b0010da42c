"""GPU kernels: compiling, recording and timing them."""
