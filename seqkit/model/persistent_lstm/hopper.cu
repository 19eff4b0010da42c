// What kernels for Hopper GPUs (sm_90a) share. BF16: numbers of 16 bits are bf16, not fp16.

__device__ __forceinline__ unsigned packed(float low, float high) {
  unsigned both;
#if BF16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
  return both;
}

__device__ __forceinline__ unsigned address_of(const void *shared) {
  return (unsigned)__cvta_generic_to_shared(shared);
}

// What this thread wrote to shared memory becomes visible to wgmma and to bulk copies.
__device__ __forceinline__ void publish_to_async() {
#if !defined(GRID) || !GRID || WGMMA
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
