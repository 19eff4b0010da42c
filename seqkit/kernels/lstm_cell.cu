// An LSTM's cell, as all kernels have it. seqkit/model/cells.py has the whole layer.

// The next h, from gates that their functions have been applied to; c becomes the next c.
template <typename Tanh>
__device__ __forceinline__ float next_h(float i, float f, float g, float o, float &c, Tanh tanh) {
  c = fmaf(f, c, i * g);
  return o * tanh(c);
}
