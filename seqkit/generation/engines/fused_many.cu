// N steps of an LSTM stack, its output layer and the draws, in one cooperative launch, for many
// streams.
//
// Each block owns UNITS hidden units of every layer: the ROWS gate rows of their weights, in shared
// memory, and their cells. The tensor cores multiply a tile of 64 streams at a time by these rows.
// The hidden values go from L2 into registers as fragments of that product, which is how their
// blocks published them. Two warpgroups split the sums, each over half of the hidden values, and
// each then finishes the cells of half of the streams. Tiles take turns at every layer: while the
// values of one travel, another is computed.
//
// There is no grid barrier. A hidden value lies in (-1, 1), so bit 14 of its fp16 is free: it tells
// a new value from the one of two steps ago, which was in the same place of the two buffers. A
// block writes the values of step t + 2 only when all blocks are done with those of step t: it
// needs the values of step t + 1, which every block published after it had read those of step t.
//
// The words: hidden [2][L][H / 16][GROUPS][32 threads] fragments, logits [2][S][LOGITS], symbols
// [2][S] behind them; the weights of a block: W_ih of the upper layers, output layer, all W_hh.
//
// Constants: L, H, V and S; BLOCKS; HEAD_TILES of 8 symbols a block; HIDDEN_SHARED, whether all
// W_hh are in shared memory (else there is room for one, and they are copied from L2 in turn);
// TABLE_SHARED, whether the first layer's table is; DRAW_HERE, whether each block draws the symbols
// of all streams by itself (else a stream's symbol is drawn by one block, and exchanged); SKIPS,
// whether the output layer reads the hidden values of all layers.

#define AT_ONCE (DRAW_HERE ? 2 : 1)  // draws of a warp whose logits are awaited together

// Bytes of shared memory, and where things are in it.
#define MATRIX (ROWS * H * 2)
#define HEAD_MATRIX (HEAD_TILES * 8 * H * 2)
#define SUMS 128                                  // an mbarrier comes first
#define INPUT_WEIGHTS (SUMS + 2 * THREADS * 32)
#define HEAD_WEIGHTS (INPUT_WEIGHTS + (L - 1) * MATRIX)
#define HIDDEN_WEIGHTS (HEAD_WEIGHTS + HEAD_MATRIX)
#define BIAS (HIDDEN_WEIGHTS + (HIDDEN_SHARED ? L : 1) * MATRIX)
#define SYMBOLS (BIAS + L * ROWS * 4)
#define TABLE (SYMBOLS + (S + 3) / 4 * 16)

extern "C" __global__ void __launch_bounds__(THREADS, 1) fused_many(const Arguments a) {
  extern __shared__ __align__(128) unsigned char memory[];
  const unsigned shared = address_of(memory);
  const int block = blockIdx.x, thread = threadIdx.x, lane = thread % 32;
  const int warp = __shfl_sync(ALL, thread / 32, 0);  // known to be the same for the whole warp
  const int warpgroup = warp / 4, quarter = warp % 4, pair = lane % 4;
  const int first_kstep = (warpgroup ^ block & 1) * KSTEPS;
  const int unit = block * UNITS + 2 * pair;  // and the next one: this thread's cells, in each tile
  const bool heads = block * HEAD_TILES * 8 < V;
  const unsigned char *weights = (const unsigned char *)a.weights +
                                 (size_t)block * ((2 * L - 1) * MATRIX + HEAD_MATRIX);
  unsigned long long *const symbol_words = a.logit_words + 2 * S * LOGITS;
  int *const symbols = (int *)(memory + SYMBOLS);
  const float *table = a.table + (size_t)block * V * ROWS;
  Watch watch = {a.error, a.patience, false};

  auto stream_of = [&](int tile) { return tile * 64 + quarter * 16 + warpgroup * 8 + lane / 4; };
  // Where the 16 streams of a group have their hidden values of a layer after step `number`.
  auto words_of = [&](int tile, int layer, unsigned number, int kstep) {
    const int at = ((number & 1) * L + layer) * (H / 16) + kstep;
    return a.hidden_words + ((size_t)at * GROUPS + tile * 4 + quarter) * 128 + lane * 4;
  };
  auto publish = [&](int tile, int layer, unsigned number, float h0, float h1) {
    if (tile * 4 + quarter >= GROUPS) return;
    const unsigned value = (packed(h0, h1) & ~FREE_BITS) | (number & 2 ? FREE_BITS : 0);
    store4(words_of(tile, layer, number, block / 2) + block % 2 * 2 + warpgroup, value);
  };
  auto copy_hidden_weights = [&](int layer) {
    if (HIDDEN_SHARED || thread) return;
    expect(shared, MATRIX);
    const unsigned char *from = weights + HIDDEN_WEIGHTS - INPUT_WEIGHTS + layer * MATRIX;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(shared + HIDDEN_WEIGHTS), "l"(from), "r"(MATRIX), "r"(shared) : "memory");
  };

  const int kept = (HIDDEN_SHARED ? BIAS : HIDDEN_WEIGHTS) - INPUT_WEIGHTS;
  for (int i = thread; i < kept / 16; i += THREADS)
    ((uint4 *)(memory + INPUT_WEIGHTS))[i] = __ldg((const uint4 *)weights + i);
  for (int i = thread; i < L * ROWS; i += THREADS)
    ((float *)(memory + BIAS))[i] = a.bias[block * L * ROWS + i];
  if (TABLE_SHARED) {
    for (int i = thread; i < V * ROWS; i += THREADS) ((float *)(memory + TABLE))[i] = table[i];
    table = (const float *)(memory + TABLE);
  }
  if (thread == 0) make_barriers(shared, 1);
  publish_to_async();
  __syncthreads();

  // The state before the first step is exchanged like that after any other.
  float c[L][TILES][2], hidden[L][TILES][4][2];  // W_hh h of the previous step, and the bias
#pragma unroll
  for (int layer = 0; layer < L; layer++)
    for (int tile = 0; tile < TILES; tile++) {
      float2 h = make_float2(0, 0), start = make_float2(0, 0);
      const size_t at = (size_t)(layer * S + stream_of(tile)) * H + unit;
      if (stream_of(tile) < S) {
        h = *(const float2 *)(a.h_in + at);
        start = *(const float2 *)(a.c_in + at);
      }
      publish(tile, layer, a.base, h.x, h.y);
      c[layer][tile][0] = start.x, c[layer][tile][1] = start.y;
    }

  auto advance = [&](int tile, int layer, int t, const float (&in)[4][2]) {
    float h[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float g = tangent(in[2][i]), f = sigmoid(in[1][i]), input = sigmoid(in[0][i]);
      h[i] = next_h(input, f, g, sigmoid(in[3][i]), c[layer][tile][i], tangent);
    }
    publish(tile, layer, a.base + 1 + t, h[0], h[1]);
    if (t + 1 == a.steps && stream_of(tile) < S) {
      const size_t at = (size_t)(layer * S + stream_of(tile)) * H + unit;
      *(float2 *)(a.h_out + at) = make_float2(h[0], h[1]);
      *(float2 *)(a.c_out + at) = make_float2(c[layer][tile][0], c[layer][tile][1]);
    }
  };
  auto symbol_of = [&](int stream, int t) {
    if (stream >= S) return 0;
    if (a.forced) return a.forced[t * S + stream];
    if (t == 0) return a.first[stream];
    if (DRAW_HERE) return symbols[stream];
    const unsigned long long *place = symbol_words + ((a.base + t) & 1) * S + stream;
    unsigned long long word = load8(place);
    for (unsigned tries = 0; (unsigned)(word >> 32) != a.base + t && !watch.over(tries); tries++)
      word = load8(place);
    return min((int)word & 0xffff, V - 1);
  };

  auto draw_symbols = [&](int t) {
    const unsigned number = a.base + 1 + t;
    const unsigned long long *words = a.logit_words + (number & 1) * S * LOGITS;
    const int begin = DRAW_HERE ? warp : block + BLOCKS * warp;
    const int stride = DRAW_HERE ? WARPS : BLOCKS * WARPS;
    for (int s = begin; s < S; s += AT_ONCE * stride) {
      double uniform[AT_ONCE];
      float logits[AT_ONCE][CHUNK];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        uniform[i] = s + i * stride < S ? a.draws[t * S + s + i * stride] : 0;
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        if (s + i * stride < S)
          await_logits(logits[i], words + (s + i * stride) * LOGITS, number, lane, watch);
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) {
        const int stream = s + i * stride;
        if (stream >= S) break;
        const int symbol = draw(logits[i], uniform[i], a.rule, lane);
        if (lane) continue;
        if (DRAW_HERE) symbols[stream] = symbol;
        else store8(symbol_words + (number & 1) * S + stream, word_of(number, symbol));
        if (!DRAW_HERE || block == 0) a.symbols[t * S + stream] = symbol;
      }
    }
  };

  float head_total[SKIPS ? TILES : 1][HEAD_TILES][4];  // of the layers so far
  unsigned copied = 0;  // W_hh, since the launch
  for (int t = -1; t < a.steps; t++) {
    const unsigned number = a.base + 1 + t;
    for (int tile = 0; t >= 0 && tile < TILES; tile++) {
      float in[4][2];
      const float *inputs = table + symbol_of(stream_of(tile), t) * ROWS + pair * 8;
#pragma unroll
      for (int i = 0; i < 8; i++) in[i / 2][i % 2] = hidden[0][tile][i / 2][i % 2] + inputs[i];
      if (CONDITIONS) {
        const int stream = min(stream_of(tile), S - 1);
        const size_t at = (size_t)block * CONDITIONS + a.conditions[t * S + stream];
        const float *given = a.condition_table + at * ROWS + pair * 8;
#pragma unroll
        for (int i = 0; i < 8; i++) in[i / 2][i % 2] += __ldg(given + i);
      }
      advance(tile, 0, t, in);
    }
#pragma unroll
    for (int layer = 0; layer < L; layer++)
      for (int tile = 0; tile < TILES; tile++) {
        Fragments x;
        x.tags = number & 2 ? FREE_BITS : 0;
        x.mask = tile * 4 + quarter < GROUPS ? FREE_BITS : 0;
        x.words = words_of(tile, layer, number, first_kstep);
#pragma unroll
        for (int k = 0; k < KSTEPS; k++) x.h[k] = make_uint4(0, 0, 0, 0);
        const bool last = layer + 1 == L, to_head = heads && (last || SKIPS);
        float sum[4][4], head_sum[HEAD_TILES][4];
        x.receive([&](int begin, int end) {
          if (t < 0 || last && !heads) return;
          wgmma_begin();
          const unsigned matrix = shared + INPUT_WEIGHTS + layer * MATRIX;
#pragma unroll
          for (int k = begin; k < end && !last; k++)
            multiply(sum, x.h[k], operand(matrix, first_kstep + k, 4), k > 0);
#pragma unroll
          for (int k = begin; k < end && to_head; k++)
#pragma unroll
            for (int i = 0; i < HEAD_TILES; i++)
              multiply_eight(head_sum[i], x.h[k],
                             operand(shared + HEAD_WEIGHTS + i * 128, first_kstep + k, HEAD_TILES),
                             k > 0);
          wgmma_end();
        }, watch);
        if (tile == 0) copy_hidden_weights(layer);  // now, so that nothing else waits for it
        if (SKIPS && to_head && t >= 0) {
          wgmma_done();
#pragma unroll
          for (int i = 0; i < HEAD_TILES * 4; i++) {
            asm volatile("" : "+f"(head_sum[i / 4][i % 4]) :: "memory");
            float &total = head_total[SKIPS ? tile : 0][i / 4][i % 4], &sum = head_sum[i / 4][i % 4];
            total = sum += layer ? total : 0.0f;
          }
        }

        if (t >= 0 && !last) {
          float in[4][2];
          add_up(in, sum, memory + SUMS);
#pragma unroll
          for (int i = 0; i < 8; i++)
            in[i / 2][i % 2] += hidden[(layer + 1) % L][tile][i / 2][i % 2];
          advance(tile, layer + 1, t, in);
        } else if (t >= 0 && heads) {
          float logits[HEAD_TILES][2];
          add_up(logits, head_sum, memory + SUMS);
          const int stream = stream_of(tile);
#pragma unroll
          for (int i = 0; i < HEAD_TILES * 2; i++) {
            const int at = (block * HEAD_TILES + i / 2) * 8 + 2 * pair + i % 2;
            if (at >= V || stream >= S) continue;
            const float logit = logits[i / 2][i % 2] + __ldg(a.head_bias + at);
            store8(a.logit_words + ((number & 1) * S + stream) * LOGITS + at,
                   word_of(number, __float_as_uint(logit)));
            if (a.logits) a.logits[((size_t)t * S + stream) * V + at] = logit;
          }
        }

        const bool draws = last && tile + 1 == TILES && t >= 0 && !a.forced;
        if (draws && !DRAW_HERE) draw_symbols(t);  // first, because all wait for these symbols

        const unsigned matrix = shared + HIDDEN_WEIGHTS + (HIDDEN_SHARED ? layer * MATRIX : 0);
        if (!HIDDEN_SHARED) while (!phase_ended(shared, copied & 1));
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < KSTEPS; k++)
          multiply(sum, x.h[k], operand(matrix, first_kstep + k, 4), k > 0);
        wgmma_end();
        add_up(hidden[layer][tile], sum, memory + SUMS + THREADS * 32);
        const float *bias = (const float *)(memory + BIAS) + layer * ROWS + pair * 8;
#pragma unroll
        for (int i = 0; i < 8; i++) hidden[layer][tile][i / 2][i % 2] += bias[i];
        __syncthreads();  // these sums have been read before the next ones are written
        if (tile + 1 == TILES) copied++;
        if (draws && DRAW_HERE) {
          draw_symbols(t);
          __syncthreads();
        }
      }
  }
}
