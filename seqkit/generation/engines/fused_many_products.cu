// The products of fused_many.cu: the tensor cores multiply weights, which lie in shared memory, by
// the hidden values of 64 streams, which come from L2 into registers.
//
// Constants: H and S, as for fused_many.cu.

#define UNITS 8
#define ROWS (4 * UNITS)
#define WARPS 8
#define THREADS (WARPS * 32)
#define KSTEPS (H / 32)          // 16 hidden values each, of a warpgroup
#define TILES ((S + 63) / 64)
#define GROUPS ((S + 15) / 16)   // of streams: what one warp takes of a tile
#define LOGITS ((V + 7) / 8 * 8)
#define FREE_BITS 0x40004000u    // of two hidden values

// ---- products: sum[stream][row] += h[stream][k] w[row][k], 64 streams, 16 values of k ----

// Weights lie in shared memory in blocks of 8 rows x 8 values, rows first: [K / 8][rows / 8].
typedef unsigned long long Operand;

__device__ __forceinline__ Operand operand(unsigned address, int kstep, int eights_of_rows) {
  const unsigned along_k = eights_of_rows * 128, along_rows = 128;
  return (Operand)((address + kstep * 2 * along_k) >> 4 & 0x3fff) | (Operand)(along_k >> 4) << 16 |
         (Operand)(along_rows >> 4) << 32;
}

// Of each eight rows a thread has the sums of two streams and two rows. `keep`: add to the sums.
__device__ __forceinline__ void multiply(float (&sum)[4][4], const uint4 &h, Operand w, bool keep) {
#define SUM(i) "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
  asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
               "{%16, %17, %18, %19}, %20, p, 1, 1, 0;}"
               : SUM(0), SUM(1), SUM(2), SUM(3)
               : "r"(h.x), "r"(h.y), "r"(h.z), "r"(h.w), "l"(w), "r"((int)keep));
}

__device__ __forceinline__ void multiply_eight(
    float (&sum)[4], const uint4 &h, Operand w, bool keep) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %9, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, %8, p, 1, 1, 0;}"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(h.x), "r"(h.y), "r"(h.z), "r"(h.w), "l"(w), "r"((int)keep));
}

// A warpgroup's sums are sums over half of the hidden values. Each thread gives those of its second
// stream, or in the second warpgroup its first one, to the other warpgroup, and adds what it gets.
template <int EIGHTS>
__device__ __forceinline__ void add_up(float (&total)[EIGHTS][2], float (&sum)[EIGHTS][4],
                                       unsigned char *memory) {
  const int warpgroup = threadIdx.x / 128, column = threadIdx.x % 128;
  float2 *place = (float2 *)memory + column;
  wgmma_done();
#pragma unroll
  for (int i = 0; i < EIGHTS; i++) {
    asm volatile("" : SUM(i) :: "memory");  // not read before the products are done
    const float2 first = make_float2(sum[i][0], sum[i][1]);
    const float2 second = make_float2(sum[i][2], sum[i][3]);
    place[(warpgroup * EIGHTS + i) * 128] = warpgroup ? first : second;
    total[i][0] = warpgroup ? second.x : first.x, total[i][1] = warpgroup ? second.y : first.y;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < EIGHTS; i++) {
    const float2 other = place[((1 - warpgroup) * EIGHTS + i) * 128];
    total[i][0] += other.x, total[i][1] += other.y;
  }
}

// The fragments of h that a warp multiplies: a warpgroup's half of the hidden values, 16 streams.
struct Fragments {
  uint4 h[KSTEPS];
  unsigned tags, mask;
  const unsigned *words;

  __device__ __forceinline__ void load(int k) {
    if (mask) h[k] = load4(words + k * (GROUPS * 128));
  }

  __device__ __forceinline__ unsigned wrong_bits(int k) const {
    return ((h[k].x ^ tags) | (h[k].y ^ tags) | (h[k].z ^ tags) | (h[k].w ^ tags)) & mask;
  }

  // Waits until fragments begin to end - 1 are those of the awaited step.
  __device__ __forceinline__ void settle(int begin, int end, Watch &watch) {
    for (unsigned tries = 0;; tries++) {
      unsigned wrong = 0;
#pragma unroll
      for (int k = begin; k < end; k++) wrong |= wrong_bits(k);
      if (!__any_sync(ALL, wrong)) break;
#pragma unroll
      for (int k = begin; k < end; k++)
        if (__any_sync(ALL, wrong_bits(k))) load(k);
      if (__any_sync(ALL, watch.over(tries))) break;
    }
#pragma unroll
    for (int k = begin; k < end; k++)
      h[k].x &= ~FREE_BITS, h[k].y &= ~FREE_BITS, h[k].z &= ~FREE_BITS, h[k].w &= ~FREE_BITS;
  }

  // As fragments arrive, `use(begin, end)` takes those of so many ksteps. Polling is done on few.
  template <typename Use>
  __device__ __forceinline__ void receive(Use use, Watch &watch) {
    const int first = KSTEPS > 16 ? 2 : KSTEPS, piece = 10;
#pragma unroll
    for (int k = 0; k < first; k++) load(k);
    settle(0, first, watch);
#pragma unroll
    for (int k = first; k < KSTEPS; k++) load(k);
    use(0, first);
#pragma unroll
    for (int begin = first; begin < KSTEPS; begin += piece) {
      const int end = begin + piece < KSTEPS ? begin + piece : KSTEPS;
      settle(begin, end, watch);
      use(begin, end);
    }
  }
};
