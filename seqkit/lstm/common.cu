// What both passes of the persistent LSTM layer share: sizes, exchange and products.
//
// A group of BLOCKS thread blocks, one on each of as many SMs, works on one tile of LANES lanes and
// keeps the whole of u (W_hh, 4H x H) in its registers for all steps; beyond RESIDENT, in its shared
// memory. A block owns UNITS hidden units: their 4 * UNITS gate rows, and their cells.
//
// What the blocks owe each other at every step travels in one of two ways. Where a group is a
// cluster, straight from shared memory to shared memory, and announces itself on an mbarrier there.
// With GRID through L2, on any GPU that runs all blocks at once: see the end. docs/how/kernel.md has
// a picture.
//
// Constants: H, a multiple of 64, up to 512 in a cluster; LANES, 8, 16, 24 or 32; PATIENCE, clock
// cycles. GRID; WGMMA, whether the GPU has it; BF16, whether numbers are bf16, not fp16; ANEW, whether
// a reset is before its step, not after it.

#define UNITS 32
#define BLOCKS (H / UNITS)
#define THREADS 256
#define OCTETS (LANES / 8)           // tensor cores take lanes by the eight
#define SLICE (LANES * UNITS * 2)    // bytes of one value of every cell of a block, in fp16
#define STAGES (GRID ? 3 : 4)        // steps whose operands are under way from global memory
#define RESIDENT 32                  // products of 16 x 16 whose weights a warp has in registers
#define MORE_WEIGHTS 4096            // bytes of each other one, of eight warps, in shared memory

// ---- clusters and shared memory ----

__device__ __forceinline__ unsigned rank_in_group() {
  if (GRID) return blockIdx.x % BLOCKS;
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
  if (GRID) return;
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
      if (gives_up(begun)) return;
  }

  __device__ __forceinline__ bool gives_up(long long begun) {
    if (clock64() - begun <= (long long)PATIENCE) return false;
    over = true;
    *error = 1;
    return true;
  }
};

// ---- products: sum[m][n] += a[m][k] b[k][n], 16 rows m a warp, LANES columns n, 16 values of k ----

// An operand b lies in shared memory in blocks of 8 lanes x 8 values: 8 rows of 16 bytes, one a
// lane. Blocks lie lanes first, [K / 8][OCTETS].
#define ALONG_K (OCTETS * 128)  // bytes from one block to the next eight values

#define R(i) "+f"(sum[i])
#define QUAD(i) R(i), R(i + 1), R(i + 2), R(i + 3)
#if BF16
#define KIND "bf16"
#else
#define KIND "f16"
#endif

// Weights in shared memory lie in blocks of 8 rows x 8 values, too: MORE_WEIGHTS bytes are [warps by
// the four][half of k][64 / 8 rows]. Here is one of the four words that a thread has of them.
__device__ __forceinline__ unsigned *more_weights(unsigned char *weights, int part) {
  const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
  return (unsigned *)(weights + warp / 4 * 2048 + part / 2 * 1024 +
                      (warp % 4 * 2 + part % 2) * 128 + in_warp * 4);
}

#if LANES == 8 || !WGMMA  // mma of single warps; for 8 lanes it takes less time than wgmma

#define SETS (LANES == 8 ? 4 : LANES == 16 ? 2 : 1)  // of sums, in turn: a product waits for its own

struct Operand {
  unsigned lanes[OCTETS][2];  // 16 values of k
};

__device__ __forceinline__ Operand operand(unsigned address, int k) {
  Operand b;
  const unsigned first = address + k * 2 * ALONG_K;
#pragma unroll
  for (int e = 0; e + 1 < OCTETS; e += 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b.lanes[e][0]), "=r"(b.lanes[e][1]), "=r"(b.lanes[e + 1][0]),
                   "=r"(b.lanes[e + 1][1])
                 : "r"(first + threadIdx.x / 8 % 2 * ALONG_K + (e + threadIdx.x / 16 % 2) * 128 +
                       threadIdx.x % 8 * 16) : "memory");
  if (OCTETS % 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b.lanes[OCTETS - 1][0]), "=r"(b.lanes[OCTETS - 1][1])
                 : "r"(first + (OCTETS == 1 ? threadIdx.x % 16 * 16
                                            : (OCTETS - 1) * 128 + threadIdx.x / 8 % 2 * ALONG_K +
                                              threadIdx.x % 8 * 16)) : "memory");
  return b;
}

// `keep`: add to `sum`; else replace it.
__device__ __forceinline__ void multiply(
    float (&sums)[OCTETS * 4], const unsigned (&a)[4], const Operand &b, bool keep) {
#pragma unroll
  for (int e = 0; e < OCTETS; e++) {
    float *sum = &sums[e * 4];
    if (!keep) sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." KIND "." KIND ".f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : QUAD(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.lanes[e][0]),
                   "r"(b.lanes[e][1]));
  }
}

__device__ __forceinline__ void multiply(
    float (&sum)[OCTETS * 4], unsigned weights, const Operand &b, bool keep) {
  unsigned a[4];
  const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(weights + warp / 4 * 2048 + in_warp / 16 * 1024 +
                     (warp % 4 * 2 + in_warp / 8 % 2) * 128 + in_warp % 8 * 16) : "memory");
  multiply(sum, a, b, keep);
}

__device__ __forceinline__ void begin_products() {}
__device__ __forceinline__ void end_products() {}
__device__ __forceinline__ void products_done() {}
__device__ __forceinline__ void settled(float (&sum)[OCTETS * 4]) {}

#else  // wgmma of four warps, which reads b from shared memory by itself

#define SETS 2

typedef unsigned long long Operand;  // a descriptor

// Of blocks of 128 bytes, neighbours along lanes or rows, so many bytes apart along k.
__device__ __forceinline__ Operand descriptor(unsigned first, unsigned along_k) {
  const unsigned along_lanes = 128;
  return (Operand)(first >> 4 & 0x3fff) | (Operand)(along_k >> 4) << 16 |
         (Operand)(along_lanes >> 4) << 32;
}

__device__ __forceinline__ Operand operand(unsigned address, int k) {
  return descriptor(address + k * 2 * ALONG_K, ALONG_K);
}

#if LANES == 16
#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define SUM_OPERANDS QUAD(0), QUAD(4)
#define A_AND_B "{%8, %9, %10, %11}, %12"
#define KEEP "%13"
#define TWO_DESCRIPTORS "%8, %9"
#define KEEP_AFTER_TWO "%10"
#elif LANES == 24
#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}"
#define SUM_OPERANDS QUAD(0), QUAD(4), QUAD(8)
#define A_AND_B "{%12, %13, %14, %15}, %16"
#define KEEP "%17"
#define TWO_DESCRIPTORS "%12, %13"
#define KEEP_AFTER_TWO "%14"
#else
#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define SUM_OPERANDS QUAD(0), QUAD(4), QUAD(8), QUAD(12)
#define A_AND_B "{%16, %17, %18, %19}, %20"
#define KEEP "%21"
#define TWO_DESCRIPTORS "%16, %17"
#define KEEP_AFTER_TWO "%18"
#endif
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
#define WGMMA_OF "wgmma.mma_async.sync.aligned.m64n" TEXT(LANES) "k16.f32." KIND "." KIND " " SUMS ", "

// `keep`: add to `sum`; else replace it.
__device__ __forceinline__ void multiply(
    float (&sum)[OCTETS * 4], const unsigned (&a)[4], Operand b, bool keep) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, " KEEP ", 0;\n" WGMMA_OF A_AND_B ", p, 1, 1, 0;}"
               : SUM_OPERANDS
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)keep));
}

__device__ __forceinline__ void multiply(
    float (&sum)[OCTETS * 4], unsigned weights, Operand b, bool keep) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, " KEEP_AFTER_TWO ", 0;\n"
               WGMMA_OF TWO_DESCRIPTORS ", p, 1, 1, 0, 0;}"
               : SUM_OPERANDS
               : "l"(descriptor(weights + threadIdx.x / 128 * 2048, 1024)), "l"(b),
                 "r"((int)keep));
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

// ---- the exchange through L2 between blocks that all run at once, without clusters ----
//
// There is no barrier. A piece of 16 bytes is written and read as a whole, and one bit of it tells a
// new piece from that of two exchanges ago, which was in the same place of the two buffers: readers
// poll the pieces themselves. Exchange number n is in buffer n % 2 with the bit n / 2 % 2 == 0. It
// starts as zeros. The argument that nothing is overwritten too early is that of the clusters.

__device__ __forceinline__ uint4 load_piece(const void *place) {
  unsigned long long low, high;
  asm volatile("{.reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v;}"
               : "=l"(low), "=l"(high) : "l"(place) : "memory");
  return make_uint4(low, low >> 32, high, high >> 32);
}

// With its first word's bit `bit` as exchange `number` has it.
__device__ __forceinline__ void send_piece(void *place, uint4 piece, unsigned bit, int number) {
  piece.x = number & 2 ? piece.x & ~bit : piece.x | bit;
  const unsigned long long low = (unsigned long long)piece.y << 32 | piece.x;
  const unsigned long long high = (unsigned long long)piece.w << 32 | piece.z;
  asm volatile("{.reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v;}"
               :: "l"(place), "l"(low), "l"(high) : "memory");
}

// Poll until pieces, which have been loaded, are those of exchange `number`; i is at `place(i)`.
// Loads have no conditions, because what is loaded under one is waited for at once.
template <int COUNT, typename Place>
__device__ __forceinline__ void await_pieces(
    uint4 (&pieces)[COUNT], Place place, unsigned bit, int number, Watch &watch) {
  const unsigned expected = number & 2 ? 0 : bit;
  auto missing = [&]() {
    bool some = false;
#pragma unroll
    for (int i = 0; i < COUNT; i++) some |= (pieces[i].x & bit) != expected;
    return some;
  };
  if (missing() && !watch.over) {
    const long long begun = clock64();
    do {
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        if ((pieces[i].x & bit) != expected) pieces[i] = load_piece(place(i));
    } while (missing() && !watch.gives_up(begun));
  }
  __syncwarp();
}
