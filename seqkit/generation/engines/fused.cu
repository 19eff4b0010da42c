// N steps of an LSTM stack, its output layer and the draw, in one cooperative launch, for few
// streams.
//
// Over 300 lines because it is one kernel: what writes a word and what polls it share a layout and
// a protocol, and can only be understood side by side.
//
// Each block owns TILES tiles of 4 hidden units (16 gate rows) of every layer and keeps their
// weights as fp16 fragments of mma.m16n8k16 in registers and shared memory. WARPS matrix warps
// split the K dimension; one finishing warp per tile adds their partial sums, applies the gates and
// publishes the new hidden values. There is no grid barrier: a hidden value is a 32-bit word in L2,
// 16 bits of step number and 16 bits of value, and a logit is a 64-bit word. Readers poll the words
// they need until they carry the right step number. Words alternate between two buffers. A writer
// reaches step t + 2 only when every reader is done with step t: it needs the hidden values of step
// t + 1, which depend on all of them.
//
// The words: hidden [2][L][COPIES][S][H], logits [2][COPIES][S][LOGITS]; the weights of a block:
// [WARPS][FRAGMENTS][32].
//
// Constants: L, H, V and S; BLOCKS; TILES, WARPS and HEAD_TILES per block; KTILES (of 16 columns)
// per warp; COPIES of the published words, so that fewer readers poll the same one; IN_REGISTERS
// and IN_SHARED, how many fragments are kept there (the rest is read from L2 at every step);
// TABLE_SHARED, whether the first layer's table is in shared memory; SKIPS, whether the output layer
// reads the hidden values of all layers; LOOKBACK, from how many samples the next is predicted, or 0.

#define FINISHERS TILES
#define THREADS ((WARPS + FINISHERS) * 32)
#define ROWS 16
#define COLUMNS (WARPS <= 8 ? 8 : 16)  // of partial sums; unused ones stay zero
#define STRIDE (COLUMNS + 4)           // avoids bank conflicts
#define PARTIAL (S * ROWS * STRIDE)    // floats per tile
#define HEAD_TOTAL ((V + 15) / 16)
#define LOGITS (HEAD_TOTAL * ROWS)
#define LAYER_FRAGMENTS (TILES * KTILES)
#define HEAD_FRAGMENTS (HEAD_TILES * KTILES)
#define HEAD_BASE ((L - 1) * LAYER_FRAGMENTS)
#define HIDDEN_BASE (HEAD_BASE + HEAD_FRAGMENTS)
#define FRAGMENTS (HIDDEN_BASE + L * LAYER_FRAGMENTS)
#define KEPT (S == 1 ? 2 : 4)  // with one stream, all columns of a product are equal
#define TABLE_ROWS (LOOKBACK ? 2 * V : V)
#define RING (LOOKBACK ? LOOKBACK : 1)

__device__ __forceinline__ void arrive(int barrier) {
  asm volatile("bar.arrive %0, %1;" : : "r"(barrier), "n"(THREADS) : "memory");
}

__device__ __forceinline__ void wait(int barrier) {
  asm volatile("bar.sync %0, %1;" : : "r"(barrier), "n"(THREADS) : "memory");
}

__device__ __forceinline__ void multiply(float (&d)[4], const uint4 &a, const uint2 &b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

struct Fragments {
  uint4 held[IN_REGISTERS > 0 ? IN_REGISTERS : 1];
  const uint4 *shared, *global;

  __device__ __forceinline__ uint4 get(int i) const {
    if (i < IN_REGISTERS) return held[i];
    if (i < IN_REGISTERS + IN_SHARED) return shared[(i - IN_REGISTERS) * 32];
    return __ldg(global + i * 32);
  }

  template <int TILE_COUNT>
  __device__ __forceinline__ void product(float (&sums)[TILE_COUNT][4], int base,
                                          const uint2 (&b)[KTILES]) const {
#pragma unroll
    for (int tile = 0; tile < TILE_COUNT; tile++) {
      float second[4] = {0, 0, 0, 0};  // two chains hide the latency of the tensor cores
#pragma unroll
      for (int k = 0; k < KTILES; k++) {
        uint4 a = get(base + tile * KTILES + k);
        if (k & 1) multiply(second, a, b[k]);
        else multiply(sums[tile], a, b[k]);
      }
#pragma unroll
      for (int i = 0; i < 4; i++) sums[tile][i] += KTILES > 1 ? second[i] : 0.0f;
    }
  }
};

// [tile][S][ROWS][STRIDE] partial sums of one product
template <int TILE_COUNT>
__device__ __forceinline__ void put_partial(float *partial, const float (&sums)[TILE_COUNT][4],
                                            int warp, int lane) {
  int row = lane >> 2, column = 2 * (lane & 3);
#pragma unroll
  for (int tile = 0; tile < TILE_COUNT; tile++) {
    float *place = partial + tile * PARTIAL + row * STRIDE + warp;
#pragma unroll
    for (int i = 0; i < (S == 1 ? 1 : 2); i++) {
      if (column + i < S) {
        place[(column + i) * ROWS * STRIDE] = sums[tile][i];
        place[(column + i) * ROWS * STRIDE + 8 * STRIDE] = sums[tile][2 + i];
      }
    }
  }
}

// Adds up a row's partial sums; lanes 2r and 2r + 1 both return the sum of row r.
__device__ __forceinline__ float take_partial(const float *partial, int lane) {
  const float4 *place =
      (const float4 *)(partial + (lane >> 1) * STRIDE + (lane & 1) * (COLUMNS / 2));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < COLUMNS / 8; i++) {
    float4 v = place[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  return sum + __shfl_xor_sync(ALL, sum, 1);
}

struct Shared {
  uint4 *fragments;  // [WARPS][IN_SHARED][32]
  float *input;      // [2][TILES][PARTIAL]: of the first layer, by parity of the step
  float *layers;     // [L - 1][TILES][PARTIAL]
  float *head;       // [HEAD_TILES][PARTIAL]
  // [TILES]: what each finishing warp finished last, as number * L + layer. Matrix warps do not run
  // ahead of it, so that no named barrier is passed twice even if words never come.
  volatile unsigned *done;
  float *past;       // [TILES][S][LOOKBACK]: each finishing warp's ring of samples
  float *table;      // [TABLE_ROWS][TILES * 16], with TABLE_SHARED
};

enum { INPUT_READY = 1, HEAD_READY = 3, LAYER_READY = 4 };  // named barriers; 4 + l for layer l

__device__ __forceinline__ void matrix_warp(const Arguments &a, const Shared &s, int warp,
                                            int lane) {
  int block = blockIdx.x, group = lane & 3, stream = min(lane >> 2, S - 1);
  bool heads = block * HEAD_TILES < HEAD_TOTAL;
  Watch watch = {a.error, a.patience, false};
  Fragments fragments;
  fragments.global = a.weights + (size_t)(block * WARPS + warp) * FRAGMENTS * 32 + lane;
  fragments.shared = s.fragments + warp * IN_SHARED * 32 + lane;
#pragma unroll
  for (int i = 0; i < IN_REGISTERS; i++) fragments.held[i] = __ldg(fragments.global + i * 32);

  float carried[L][TILES][KEPT];  // W_hh h of the previous step
  uint2 b[KTILES];
  int place = warp * KTILES * 16 + group * 4;
  auto hidden_product = [&](int layer, int parity) {
    float sums[TILES][4] = {};
    fragments.product(sums, HIDDEN_BASE + layer * LAYER_FRAGMENTS, b);
    if (layer == 0) {
      put_partial(s.input + parity * TILES * PARTIAL, sums, warp, lane);
      arrive(INPUT_READY + parity);
    }
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
      for (int i = 0; i < KEPT; i++) carried[layer][tile][i] = sums[tile][i * 4 / KEPT];
  };

#pragma unroll
  for (int layer = 0; layer < L; layer++) {
    const float *h = a.h_in + (layer * S + stream) * H + place;
#pragma unroll
    for (int k = 0; k < KTILES; k++) {
      b[k].x = half_bits(h[k * 16]) | half_bits(h[k * 16 + 1]) << 16;
      b[k].y = half_bits(h[k * 16 + 2]) | half_bits(h[k * 16 + 3]) << 16;
    }
    hidden_product(layer, a.base & 1);
  }

  const unsigned *words = a.hidden_words + ((block % COPIES) * S + stream) * H + place;
  for (int t = 0; t < a.steps; t++) {
    unsigned number = a.base + t, mark = number << 16;
    int parity = number & 1;
    float head_sums[HEAD_TILES][4] = {};
#pragma unroll
    for (int layer = 0; layer < L; layer++) {
      const unsigned *from = words + (parity * L + layer) * COPIES * S * H;
      for (unsigned tries = 0;; tries++) {
        unsigned wrong = 0;
        bool ahead = (int)(s.done[lane % TILES] - (number * L + layer)) < 0;
#pragma unroll
        for (int k = 0; k < KTILES; k++) {
          uint4 v = load4(from + k * 16);
          wrong |= (v.x ^ mark) | (v.y ^ mark) | (v.z ^ mark) | (v.w ^ mark);
          b[k].x = __byte_perm(v.x, v.y, 0x5410);
          b[k].y = __byte_perm(v.z, v.w, 0x5410);
        }
        if (__any_sync(ALL, ahead)) continue;
        if (__all_sync(ALL, wrong < 0x10000u)) break;
        if (__any_sync(ALL, watch.over(tries))) break;
      }
      if (layer + 1 < L) {
        float sums[TILES][4];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
          for (int i = 0; i < 4; i++) sums[tile][i] = carried[layer + 1][tile][i * KEPT / 4];
        fragments.product(sums, layer * LAYER_FRAGMENTS, b);
        put_partial(s.layers + layer * TILES * PARTIAL, sums, warp, lane);
        arrive(LAYER_READY + layer + 1);
      }
      if (heads && (SKIPS || layer + 1 == L)) fragments.product(head_sums, HEAD_BASE, b);
      if (heads && layer + 1 == L) {
        put_partial(s.head, head_sums, warp, lane);
        arrive(HEAD_READY);
      }
      hidden_product(layer, parity ^ 1);
    }
  }
}

__device__ __forceinline__ void finishing_warp(const Arguments &a, const Shared &s, int tile,
                                               int lane) {
  int block = blockIdx.x, row = lane >> 1, gate = row & 3;
  int unit = (block * TILES + tile) * 4 + (lane >> 3);
  bool speaker = block == 0 && tile == 0;
  Watch watch = {a.error, a.patience, false};
  float scale = gate == 2 ? 2.0f : 1.0f;  // tanh(x) = 2 sigmoid(2x) - 1
  float c[L][S], h[L][S], bias[L], pre[S];
  int symbol[S];
#pragma unroll
  for (int layer = 0; layer < L; layer++) {
    bias[layer] = a.bias[(block * L + layer) * TILES * ROWS + tile * ROWS + row];
#pragma unroll
    for (int i = 0; i < S; i++) {
      c[layer][i] = a.c_in[(layer * S + i) * H + unit];
      h[layer][i] = a.h_in[(layer * S + i) * H + unit];
    }
  }
  const float *table = TABLE_SHARED ? s.table : a.table + (size_t)block * TABLE_ROWS * TILES * ROWS;
  table += tile * ROWS + row;
  const float *given = a.condition_table + (size_t)block * CONDITIONS * TILES * ROWS;
  given += tile * ROWS + row;
  float add[S] = {};  // what the conditions of the next step bring
  float older[S], latest[S];  // the prediction but for the latest sample, and that one's weight
  float border[LOOKBACK ? CHUNK : 1];  // this lane's, half-way between neighbouring levels
  float *past = s.past + tile * S * LOOKBACK;  // that of step t is at t % LOOKBACK
  for (int i = lane; i < S * LOOKBACK; i += 32) past[i] = a.past[i];
  __syncwarp();
#pragma unroll
  for (int k = 0; LOOKBACK && k < CHUNK; k++) {
    int at = k * 32 + lane;
    border[k] = at + 1 < V ? (a.levels[at] + a.levels[at + 1]) / 2 : -negative_infinity();
  }
  // The conditions of step t, and its prediction but for the latest sample; unused after the last step.
  auto look_up = [&](int t) {
#pragma unroll
    for (int i = 0; i < S; i++) {
      int at = CONDITIONS ? __ldg(a.conditions + min(t, a.steps - 1) * S + i) : 0;
      if (CONDITIONS) add[i] = __ldg(given + at * TILES * ROWS);
      if (!LOOKBACK) continue;
      const float *weights = a.prediction + at * LOOKBACK;
      float sum = 0;
      for (int k = lane; k + 1 < LOOKBACK; k += 32)
        sum += __ldg(weights + k) * past[i * LOOKBACK + (t + 1 + k) % RING];
      older[i] = warp_sum(sum);
      latest[i] = __ldg(weights + LOOKBACK - 1);
    }
  };
  // The row of the table for the symbol that is predicted after the one that is fed at step t.
  auto predict = [&](int t, int i) {
    float sample = __ldg(a.levels + symbol[i]), value = older[i] + latest[i] * sample;
    if (lane == 0) past[i * LOOKBACK + t % RING] = sample;
    int below = 0;
#pragma unroll
    for (int k = 0; LOOKBACK && k < CHUNK; k++) below += border[k] < value;
    return (V + (int)__reduce_add_sync(ALL, below)) * TILES * ROWS;
  };

  auto finish = [&](int layer, int i, float x, unsigned number) {
    float y = scale * sigmoid(scale * x) - (scale - 1.0f);
    int from = lane & ~7;
    float in = __shfl_sync(ALL, y, from), forget = __shfl_sync(ALL, y, from + 2);
    float value = __shfl_sync(ALL, y, from + 4), out = __shfl_sync(ALL, y, from + 6);
    h[layer][i] = next_h(in, forget, value, out, c[layer][i], tangent);
    int copy = lane & 7;
    if (copy < COPIES) {
      size_t at = ((((number & 1) * L + layer) * COPIES + copy) * S + i) * H + unit;
      store4(a.hidden_words + at, number << 16 | half_bits(h[layer][i]));
    }
  };
  auto take_input = [&](unsigned number) {
    wait(INPUT_READY + (number & 1));
#pragma unroll
    for (int i = 0; i < S; i++)
      pre[i] = take_partial(s.input + ((number & 1) * TILES + tile) * PARTIAL + i * ROWS * STRIDE,
                            lane);
  };

  auto tell = [&](int layer, unsigned number) {
    if (lane == 0) s.done[tile] = number * L + layer;
  };

  look_up(0);
  take_input(a.base);
#pragma unroll
  for (int i = 0; i < S; i++) symbol[i] = a.forced ? a.forced[i] : a.first[i];
  for (int t = 0; t < a.steps; t++) {
    unsigned number = a.base + t;
    double uniform[S];
    int next[S];
#pragma unroll
    for (int i = 0; i < S; i++) {
      float x = CONDITIONS ? pre[i] + add[i] : pre[i];
      x += table[symbol[i] * TILES * ROWS];
      if (LOOKBACK) x += table[predict(t, i)];
      finish(0, i, x, number);
      uniform[i] = a.forced ? 0.0 : a.draws[t * S + i];
      next[i] = a.forced && t + 1 < a.steps ? a.forced[(t + 1) * S + i] : 0;
    }
    tell(0, number);
    __syncwarp();    // all lanes see the samples of this step
    look_up(t + 1);  // now, so that nothing waits for it
#pragma unroll
    for (int layer = 1; layer < L; layer++) {
      wait(LAYER_READY + layer);
      const float *partial = s.layers + ((layer - 1) * TILES + tile) * PARTIAL;
#pragma unroll
      for (int i = 0; i < S; i++)
        finish(layer, i, take_partial(partial + i * ROWS * STRIDE, lane) + bias[layer], number);
      tell(layer, number);
    }
    bool heads = block * HEAD_TILES < HEAD_TOTAL;
    if (heads) {
      wait(HEAD_READY);
      for (int k = tile; k < HEAD_TILES && block * HEAD_TILES + k < HEAD_TOTAL; k += FINISHERS) {
        int at = (block * HEAD_TILES + k) * ROWS + row;
#pragma unroll
        for (int i = 0; i < S; i++) {
          float logit = take_partial(s.head + k * PARTIAL + i * ROWS * STRIDE, lane);
          logit += __ldg(a.head_bias + at);
          unsigned long long word = word_of(number, __float_as_uint(logit));
          for (int copy = lane & 1; copy < COPIES; copy += 2)
            store8(a.logit_words + (((number & 1) * COPIES + copy) * S + i) * LOGITS + at, word);
          if (a.logits && !(lane & 1) && at < V) a.logits[((size_t)t * S + i) * V + at] = logit;
        }
      }
    }
    take_input(number + 1);
#pragma unroll
    for (int i = 0; i < S; i++) {
      const unsigned long long *from =
          a.logit_words + (((number & 1) * COPIES + block % COPIES) * S + i) * LOGITS;
      float logits[CHUNK];
      await_logits(logits, from, number, lane, watch);
      symbol[i] = a.forced ? next[i] : draw(logits, uniform[i], a.rule, lane);
      if (speaker && lane == 0 && !a.forced) a.symbols[t * S + i] = symbol[i];
    }
  }
  if ((lane & 7) == 0) {
#pragma unroll
    for (int layer = 0; layer < L; layer++)
#pragma unroll
      for (int i = 0; i < S; i++) {
        a.h_out[(layer * S + i) * H + unit] = h[layer][i];
        a.c_out[(layer * S + i) * H + unit] = c[layer][i];
      }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) fused(const Arguments a) {
  extern __shared__ uint4 memory[];
  Shared s;
  s.fragments = memory;
  s.input = (float *)(memory + WARPS * IN_SHARED * 32);
  s.layers = s.input + 2 * TILES * PARTIAL;
  s.head = s.layers + (L - 1) * TILES * PARTIAL;
  s.done = (volatile unsigned *)(s.head + HEAD_TILES * PARTIAL);
  s.past = s.head + HEAD_TILES * PARTIAL + TILES;
  s.table = s.past + TILES * S * LOOKBACK;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  for (float *place = s.input + threadIdx.x; place < (float *)s.done; place += THREADS) *place = 0;
  if (threadIdx.x < TILES) s.done[threadIdx.x] = a.base * L - 1;
  if (TABLE_SHARED)
    for (int i = threadIdx.x; i < TABLE_ROWS * TILES * ROWS; i += THREADS)
      s.table[i] = a.table[(size_t)blockIdx.x * TABLE_ROWS * TILES * ROWS + i];
  if (warp < WARPS) {
    const uint4 *from =
        a.weights + ((size_t)(blockIdx.x * WARPS + warp) * FRAGMENTS + IN_REGISTERS) * 32 + lane;
    for (int i = 0; i < IN_SHARED; i++)
      s.fragments[(warp * IN_SHARED + i) * 32 + lane] = __ldg(from + i * 32);
  }
  __syncthreads();
  if (warp < WARPS) matrix_warp(a, s, warp, lane);
  else finishing_warp(a, s, warp - WARPS, lane);
}
