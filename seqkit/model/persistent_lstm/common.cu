// What both passes of the persistent LSTM layer share: sizes, exchange and products.
//
// A cluster of BLOCKS thread blocks, one on each of as many SMs, works on one tile of LANES lanes
// and keeps the whole of u (W_hh, 4H x H) in its registers for all steps. A block owns UNITS hidden
// units: their 4 * UNITS gate rows, and their cells. What the blocks owe each other at every step
// travels straight from shared memory to shared memory and announces itself on an mbarrier there.
// docs/how/kernel.md has a picture.
//
// Constants: H, a multiple of 64 up to 512; LANES, 8, 16, 24 or 32; PATIENCE, clock cycles.

typedef unsigned short half;  // the bits of an fp16; arithmetic is done in fp32

#define UNITS 32
#define BLOCKS (H / UNITS)
#define THREADS 256
#define OCTETS (LANES / 8)           // tensor cores take lanes by the eight
#define SLICE (LANES * UNITS * 2)    // bytes of one value of every cell of a block, in fp16
#define STAGES 4                     // steps whose operands are under way from global memory

// ---- numbers ----

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
  asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
      : "=f"(v.x), "=f"(v.y) : "r"(both));
  return v;
}

__device__ __forceinline__ float number(half bits) { return unpacked(bits).x; }
__device__ __forceinline__ half rounded(float x) { return (half)packed(x, 0.0f); }
// As fp16 at most: a cell that counts would be infinite in the next window. NaN stays NaN.
__device__ __forceinline__ half saturated(float x) {
  return rounded(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
}

// ---- clusters and shared memory ----

__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The address at which block `rank` of the cluster has what is at `address` here.
__device__ __forceinline__ unsigned at_peer(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// 16 bytes from global memory to shared memory, or zeros; there once `stages_arrived` says so.
__device__ __forceinline__ void fetch16(unsigned target, const void *source, bool zeros) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(target), "l"(source), "r"(zeros ? 0 : 16) : "memory");
}

__device__ __forceinline__ void end_of_stage() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// All stages of this thread but the newest `BUT` have arrived.
template <int BUT> __device__ __forceinline__ void stages_arrived() {
  asm volatile("cp.async.wait_group %0;" :: "n"(BUT) : "memory");
}

// Whether this thread has given up. From then on it neither waits nor sends, so that every block
// comes to its end, and what it computes is NaN; the host finds the error word set. It expects
// nothing either: a phase that never ended must not be counted a second time.
struct Watch {
  int *error;
  bool over = false;

  __device__ __forceinline__ void await(unsigned barrier, unsigned parity) {
    if (phase_ended(barrier, parity)) return;
    if (!over) insist(barrier, parity);
    __syncwarp();  // what follows is done by whole warps
  }

  __device__ __forceinline__ void insist(unsigned barrier, unsigned parity) {
    const long long begun = clock64();
    while (!phase_ended(barrier, parity))
      if (clock64() - begun > (long long)PATIENCE) {
        over = true;
        *error = 1;
        return;
      }
  }
};

// ---- products: sum[m][n] += a[m][k] b[k][n], 16 rows m a warp, LANES columns n, 16 values of k ----

// An operand b lies in shared memory in blocks of 8 lanes x 8 values: 8 rows of 16 bytes, one a
// lane. Blocks lie lanes first, [K / 8][OCTETS].
#define ALONG_K (OCTETS * 128)  // bytes from one block to the next eight values

#define R(i) "+f"(sum[i])
#define QUAD(i) R(i), R(i + 1), R(i + 2), R(i + 3)

#if LANES == 8  // mma of single warps, which takes less time for so few lanes than wgmma

#define SETS 4  // of sums, added to in turn: a product waits for the one that it adds to

typedef uint2 Operand;  // 16 values of k

__device__ __forceinline__ Operand operand(unsigned address, int k) {
  Operand b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(b.x), "=r"(b.y)
               : "r"(address + k * 2 * ALONG_K + threadIdx.x % 16 * 16) : "memory");
  return b;
}

// `keep`: add to `sum`; else replace it.
__device__ __forceinline__ void multiply(
    float (&sum)[4], const unsigned (&a)[4], Operand b, bool keep) {
  if (!keep) sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : QUAD(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

__device__ __forceinline__ void begin_products() {}
__device__ __forceinline__ void end_products() {}
__device__ __forceinline__ void products_done() {}
__device__ __forceinline__ void settled(float (&sum)[4]) {}

#else  // wgmma of four warps, which reads b from shared memory by itself

#define SETS 2

typedef unsigned long long Operand;  // a descriptor

__device__ __forceinline__ Operand operand(unsigned address, int k) {
  const unsigned first = address + k * 2 * ALONG_K, along_lanes = 128;
  return (Operand)(first >> 4 & 0x3fff) | (Operand)(ALONG_K >> 4) << 16 |
         (Operand)(along_lanes >> 4) << 32;
}

// `keep`: add to `sum`; else replace it.
__device__ __forceinline__ void multiply(
    float (&sum)[OCTETS * 4], const unsigned (&a)[4], Operand b, bool keep) {
#define A_AND_B "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)keep)
#if LANES == 16
  asm volatile("{.reg .pred p; setp.ne.b32 p, %13, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1, 0;}"
               : QUAD(0), QUAD(4) : A_AND_B);
#elif LANES == 24
  asm volatile("{.reg .pred p; setp.ne.b32 p, %17, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, "
               "{%12, %13, %14, %15}, %16, p, 1, 1, 0;}"
               : QUAD(0), QUAD(4), QUAD(8) : A_AND_B);
#else
  asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
               "{%16, %17, %18, %19}, %20, p, 1, 1, 0;}"
               : QUAD(0), QUAD(4), QUAD(8), QUAD(12) : A_AND_B);
#endif
}

__device__ __forceinline__ void begin_products() { wgmma_begin(); }
__device__ __forceinline__ void end_products() { wgmma_end(); }
__device__ __forceinline__ void products_done() { wgmma_done(); }

// The compiler must not read `sum` before the products are done.
__device__ __forceinline__ void settled(float (&sum)[OCTETS * 4]) {
#pragma unroll
  for (int i = 0; i < OCTETS * 4; i++) asm volatile("" : R(i) :: "memory");
}

#endif

// ---- what the forward pass keeps for the backward pass ----

// A step's cells of one block, in the order in which both passes touch them with wide accesses:
// [octet of lanes][group of 4 units][lane][unit], and of the gates [i f g o] in each.
__device__ __forceinline__ int kept_place(int octet, int unit, int column) {
  return ((octet * (UNITS / 4) + unit / 4) * 8 + column) * 4 + unit % 4;
}

__device__ __forceinline__ long long kept_block(int step, int tiles, int tile, unsigned rank) {
  return (((long long)step * tiles + tile) * BLOCKS + rank) * (LANES * UNITS);
}
