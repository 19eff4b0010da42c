// The cell, its numbers of 16 bits (BF16: bf16, not fp16), and what only Hopper GPUs (sm_90a) do.

typedef unsigned short half;  // the bits of a number of 16 bits; arithmetic is done in fp32

// ---- the cell; seqkit/lstm/cells.py has the whole layer ----

// The next h, from gates that their functions have been applied to; c becomes the next c.
template <typename Tanh>
__device__ __forceinline__ float next_h(float i, float f, float g, float o, float &c, Tanh tanh) {
  c = fmaf(f, c, i * g);
  return o * tanh(c);
}

// ---- numbers ----

__device__ __forceinline__ unsigned packed(float low, float high) {
  unsigned both;
#if BF16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
  return both;
}

__device__ __forceinline__ float tanh_of(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));  // within 2^-11, as fp16 rounds
  return y;
}

__device__ __forceinline__ float sigmoid_of(float x) {
  return fmaf(tanh_of(0.5f * x), 0.5f, 0.5f);
}

__device__ __forceinline__ float2 unpacked(unsigned both) {
  float2 v;
#if BF16
  v.x = __uint_as_float(both << 16), v.y = __uint_as_float(both & 0xffff0000u);
#else
  asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
      : "=f"(v.x), "=f"(v.y) : "r"(both));
#endif
  return v;
}

__device__ __forceinline__ float number(half bits) { return unpacked(bits).x; }
__device__ __forceinline__ half rounded(float x) { return (half)packed(x, 0.0f); }
// As fp16 at most: a cell that counts would be infinite in the next window. NaN stays NaN.
__device__ __forceinline__ half saturated(float x) {
  if (BF16) return rounded(x);
  return rounded(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
}

// ---- shared memory ----

__device__ __forceinline__ unsigned address_of(const void *shared) {
  return (unsigned)__cvta_generic_to_shared(shared);
}

// What this thread wrote to shared memory becomes visible to wgmma and to bulk copies.
__device__ __forceinline__ void publish_to_async() {
#if !GRID || WGMMA
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// ---- mbarriers: each counts the bytes of one exchange ----

__device__ __forceinline__ void make_barriers(unsigned first, int count) {
  for (int i = 0; i < count; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(first + 8 * i) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// The barrier's phase ends when so many bytes have arrived. They may arrive before this is said.
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ bool phase_ended(unsigned barrier, unsigned parity) {
  unsigned ended;
  asm volatile("{.reg .pred p;\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
               "selp.u32 %0, 1, 0, p;}"
               : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
  return ended;
}

// ---- wgmma: products of four warps, whose sums may be read once they are done ----

__device__ __forceinline__ void wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_end() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_done() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
