// Backward: T steps of one layer, from the last to the first.
//
//   dh = dy[t] + uᵀ dgates[t+1]          do = dh tanh(c) o (1 - o)
//   dc = dh o (1 - tanh(c)²) + dc f'     di = dc g i (1 - i)   dg = dc i (1 - g²)   df = dc c' f (1 - f)
//
// where f' is the f of step t + 1 and c' the c of step t - 1. dgates, the gradient of what goes into
// the gates, is the result; the products for dx, dw and du are made of it afterwards.
//
// A block keeps the gates' gradients of its own units to itself: it multiplies them by its columns
// of uᵀ, which gives its part of dh for all H units, and sends each block that block's share. A
// block adds up the BLOCKS parts that it gets, always in the same order. The parts travel as fp16.
//
// Exchange number n (what step n makes, counted over all tiles; step n + 1 adds it up) arrives in
// buffer n % 2. A block sends n after it has added up n - 1, which the others sent after they had
// added up n - 2: the buffer that n goes to is free. After its last step a tile adds up once more,
// for the gradient of h0.
//
// Over 300 lines because it is one kernel: every part hangs on the layout of the others.

struct Backward {
  const half *u;                  // (4H, H)
  const half *gates, *cells;      // kept by the forward pass
  const half *dy;                 // (T, B, H)
  const half *dh_last, *dc_last;  // (B, H); or null, for zeros
  half *dgates;                   // (T, B, 4H)
  half *dh0, *dc0;                // (B, H)
  float *dbias;                   // (tiles, 4H): dgates, summed over the steps and lanes of a tile
  int *error;
  int steps, lanes, tiles;        // T, B, ceil(B / LANES)
  unsigned char *exchange;        // with GRID: of each group 2 buffers of all parts, zeros at first
};

// Rows of 16 units that a warp multiplies; with GRID an even number.
#define PARTS (GRID ? (H / 16 + 15) / 16 * 2 : (H / 16 + 7) / 8)
// Groups of parts, each sent as soon as it is made. A store takes two fragments, which must not be
// in two groups; and mma, for 8 lanes, is fastest on all parts in turn.
#define GROUPS (GRID ? PARTS / 2 : LANES == 8 || PARTS != 4 ? 1 : OCTETS % 2 ? 2 : 4)
#define FRAGMENTS (PARTS * OCTETS / GROUPS)  // of 16 units x 8 lanes, in a group
#define LOADS ((BLOCKS + 8 / OCTETS - 1) / (8 / OCTETS))  // with GRID: pieces that a thread adds up
#define BATCH (LOADS < 8 ? LOADS : 8)   // of which so many are awaited together
#define BATCHES ((LOADS + BATCH - 1) / BATCH)
#define WORDS (128 * OCTETS)            // pairs of cells in a block
#define PAIRS ((WORDS + THREADS - 1) / THREADS)  // of a thread
#define OPERAND (LANES * 4 * UNITS * 2) // bytes of a block's dgates
#define DY_ROW (UNITS * 2 + 16)         // bytes of a lane's dy; 16 against bank conflicts
#define STAGE (OPERAND + SLICE + LANES * DY_ROW)  // gates, c', dy
#define DGATES 1024                     // 2 buffers of dgates, operands with k = gate, unit
#define ARRIVED (DGATES + 2 * OPERAND)  // 2 buffers of parts of dh, one of each block
#define SPLIT (8 / OCTETS)              // with GRID: threads that share the parts of a piece
// STAGES steps of what the forward pass kept. With GRID sums of parts are before it, in fp32.
#define KEPT (ARRIVED + (GRID ? SPLIT : BLOCKS) * 2 * SLICE)
#define WEIGHTS (KEPT + STAGES * STAGE) // those that are not in registers
#define FIRST_PARTS (RESIDENT / 8)      // of a warp, whose weights are in registers
#define LAST_BIT 1u                     // of one of eight sums, which is free for the exchange

// A pair of cells: units `unit` and `unit + 1` (of the block) of lane `octet * 8 + column`. Pairs
// are numbered as the sums of a product lie in the threads that send them: four of two octets in one
// 16-byte store.
struct Pair {
  int unit, octet, column;
};

__device__ __forceinline__ Pair pair_of(int number) {
  const int thread = number / 4 % 32, fragment = number / 128 * 2 + number / 2 % 2;
  return {fragment / OCTETS * 16 + thread / 4 * 2, fragment % OCTETS, thread % 4 * 2 + number % 2};
}

// What dh is multiplied by to give its part of dc and do, and dc to give di, df, dg and its part of
// the dc of the step before.
struct Factors {
  float c, o, i, f, g, before;
};

__device__ __forceinline__ Factors factors_of(float2 i_f, float2 g_o, float c, float c_before) {
  const float i = i_f.x, f = i_f.y, g = g_o.x, o = g_o.y, squashed = tanh_of(c);
  return {o * (1.0f - squashed * squashed), squashed * o * (1.0f - o), g * i * (1.0f - i),
          c_before * f * (1.0f - f), i * (1.0f - g * g), f};
}

#if !GRID
__device__ __forceinline__ void send16(unsigned target, const unsigned (&v)[4], unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
               "[%0], {%1, %2, %3, %4}, [%5];"
               :: "r"(target), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(barrier) : "memory");
}

__device__ __forceinline__ void send8(unsigned target, unsigned v0, unsigned v1, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 "
               "[%0], {%1, %2}, [%3];"
               :: "r"(target), "r"(v0), "r"(v1), "r"(barrier) : "memory");
}
#endif

__device__ __forceinline__ void add_eight(float (&sums)[8], uint4 values) {
  const unsigned words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float2 two = unpacked(words[i]);
    sums[2 * i] += two.x, sums[2 * i + 1] += two.y;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) lstm_backward(const Backward p) {
  extern __shared__ __align__(128) unsigned char memory[];
  const unsigned shared = address_of(memory), rank = rank_in_group();
  const int thread = threadIdx.x, warp = thread / 32, in_warp = thread % 32;
  const int row = in_warp / 4, pair = in_warp % 4;
  const int own = rank * UNITS;  // the block's first unit
  const int B = p.lanes, T = p.steps;
  Watch watch{p.error};

  if (!GRID && thread == 0) make_barriers(shared, 2);
  cluster_barrier();

  // Part `warp * PARTS + m` has 16 units of dh; rows `row` and `row + 8` of the product are two
  // neighbours among them, which then leave as one word. k is a gate and one of the block's units.
  unsigned ut[PARTS < FIRST_PARTS ? PARTS : FIRST_PARTS][8][4];
#pragma unroll
  for (int m = 0; m < PARTS; m++)
#pragma unroll
    for (int k = 0; k < 8; k++)
#pragma unroll
      for (int part = 0; part < 2; part++) {
        const int number = warp * PARTS + m;
        const long long from = (long long)k / 2 * H + own + k % 2 * 16 + part * 8 + 2 * pair;
        const half *at = p.u + from * H + number * 16 + 2 * row;
        const bool exists = number < H / 16;
        const unsigned here = exists ? *(const unsigned *)at : 0;
        const unsigned below = exists ? *(const unsigned *)(at + H) : 0;
        const unsigned one = __byte_perm(here, below, 0x5410);
        const unsigned two = __byte_perm(here, below, 0x7632);
        if (m < FIRST_PARTS) {
          ut[m % FIRST_PARTS][k][2 * part] = one, ut[m % FIRST_PARTS][k][2 * part + 1] = two;
        } else {
          unsigned char *more = memory + WEIGHTS + ((m - FIRST_PARTS) * 8 + k) * MORE_WEIGHTS;
          *more_weights(more, 2 * part) = one, *more_weights(more, 2 * part + 1) = two;
        }
      }

  Pair cells[PAIRS];
#pragma unroll
  for (int i = 0; i < PAIRS; i++) cells[i] = pair_of(i * THREADS + thread);
  auto has = [&](int i) { return (i + 1) * THREADS <= WORDS || i * THREADS + thread < WORDS; };
  // dgates leave as 16-byte pieces: eight units of a gate, of every sixteenth lane.
  const int eight = thread / 8 % 16, eight_at = eight / 4 * H + eight % 4 * 8;
  int exchange = 0;

  for (int tile = blockIdx.x / BLOCKS; tile < p.tiles; tile += gridDim.x / BLOCKS) {
    const int first = tile * LANES, count = min(LANES, B - first);
    // Half of the threads fetch c', the other half dy: 16 bytes each.
    const bool fetches_c = thread < 128, fetches = thread % 128 < LANES * 4;
    const int dy_lane = thread % 128 / 4, dy_at = thread % 4 * 8;
    const half *gates = p.gates + 4 * kept_block(0, p.tiles, tile, rank) + thread * 8;
    const half *others = fetches_c ? p.cells + kept_block(0, p.tiles, tile, rank) + thread * 8
                                   : p.dy + (long long)(first + dy_lane) * H + own + dy_at;
    const int gates_step = 4 * p.tiles * LANES * H, others_step = fetches_c ? gates_step / 4 : B * H;
    const int others_to = OPERAND + (fetches_c ? thread * 16 : SLICE + dy_lane * DY_ROW + dy_at * 2);
    const bool zeros = !fetches_c && dy_lane >= count;
    auto fetch = [&](int step) {
      const int t = T - 1 - step;
      if (t >= 0) {
        const unsigned stage = shared + KEPT + step % STAGES * STAGE;
#pragma unroll
        for (int i = 0; i < (LANES + 15) / 16; i++)
          if ((i + 1) * THREADS <= OPERAND / 16 || i * THREADS + thread < OPERAND / 16)
            fetch16(stage + (i * THREADS + thread) * 16,
                    gates + (long long)t * gates_step + i * THREADS * 8, false);
        if (fetches)
          fetch16(stage + others_to, zeros ? p.dy : others + (long long)t * others_step, zeros);
      }
      end_of_stage();
    };
    // Two neighbouring values of a (B, H) tensor, or zeros.
    auto start = [&](const half *values, Pair cell) {
      const int lane = cell.octet * 8 + cell.column;
      if (!values || lane >= count) return make_float2(0.0f, 0.0f);
      return unpacked(*(const unsigned *)(values + (long long)(first + lane) * H + own + cell.unit));
    };
    // With ANEW: whether the step after began with zeros, so that its dh ends there.
    bool ended[PAIRS] = {};
    // Add up what all blocks sent in exchange `number`.
#if GRID
    // Where block `source` puts its part for block `target`.
    unsigned char *buffers = p.exchange + blockIdx.x / BLOCKS * (2LL * BLOCKS * BLOCKS * SLICE);
    auto slice_of = [&](int number, int source, int target) {
      return buffers + (((number & 1) * BLOCKS + target) * BLOCKS + source) * SLICE;
    };
    auto add_parts = [&](int number, float2 (&dh)[PAIRS]) {
      // Threads for which there is no part read the last block's, too.
      const int split = thread / (32 * OCTETS), piece = thread % (32 * OCTETS);
      const unsigned char *from = slice_of(number, 0, rank) + piece * 16;
      auto source_of = [&](int batch, int i) { return (batch * BATCH + i) * SPLIT + split; };
      auto place_of = [&](int batch, int i) {
        return from + min(source_of(batch, i), BLOCKS - 1) * SLICE;
      };
      uint4 got[BATCHES][BATCH];
      auto ask = [&](int batch) {
#pragma unroll
        for (int i = 0; i < BATCH; i++) got[batch][i] = load_piece(place_of(batch, i));
      };
      float total[8] = {};
      ask(0);
#pragma unroll
      for (int batch = 0; batch < BATCHES; batch++) {
        auto place = [&](int i) { return place_of(batch, i); };
        await_pieces(got[batch], place, LAST_BIT, number, watch);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
          if (source_of(batch, i) < BLOCKS) add_eight(total, got[batch][i]);
        if (batch + 1 < BATCHES) ask(batch + 1);
      }
      float4 *sums = (float4 *)(memory + ARRIVED);
      if (split < SPLIT) {
        sums[thread * 2] = make_float4(total[0], total[1], total[2], total[3]);
        sums[thread * 2 + 1] = make_float4(total[4], total[5], total[6], total[7]);
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        if (!has(i) || ended[i]) continue;
#pragma unroll
        for (int other = 0; other < SPLIT; other++) {
          const float2 part = ((const float2 *)sums)[other * WORDS + i * THREADS + thread];
          dh[i].x += part.x, dh[i].y += part.y;
        }
      }
      if (watch.over) dh[0].x = __int_as_float(0x7fffffff);
    };
#else
    auto add_parts = [&](int number, float2 (&dh)[PAIRS]) {
      watch.await(shared + number % 2 * 8, number / 2 % 2);
      const unsigned char *parts = memory + ARRIVED + number % 2 * BLOCKS * SLICE;
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        if (!has(i) || ended[i]) continue;
        const unsigned char *word = parts + (i * THREADS + thread) * 4;
#pragma unroll
        for (int source = 0; source < BLOCKS; source++) {
          const float2 part = unpacked(*(const unsigned *)(word + source * SLICE));
          dh[i].x += part.x, dh[i].y += part.y;
        }
      }
      if (watch.over) dh[0].x = __int_as_float(0x7fffffff);
    };
#endif

    float sums[8] = {};  // of the dgates that this thread writes
    // dgates of step t, to global memory and to the sums.
    auto write = [&](int t, const unsigned char *dgates) {
      half *target = p.dgates + ((long long)t * B + first) * (4 * H) + own + eight_at;
#pragma unroll
      for (int i = 0; i < (OCTETS + 1) / 2; i++) {
        const int octet = thread / 128 + 2 * i, lane = octet * 8 + thread % 8;
        if (lane >= count) continue;
        const uint4 values =
            *(const uint4 *)(dgates + (eight * OCTETS + octet) * 128 + thread % 8 * 16);
        *(uint4 *)(target + lane * (4 * H)) = values;
        add_eight(sums, values);
      }
    };

#pragma unroll 1
    for (int step = 0; step < STAGES - 1; step++) fetch(step);
    float2 dh[PAIRS], dc[PAIRS], c[PAIRS];
    const half *last_cells = p.cells + kept_block(T, p.tiles, tile, rank);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      dh[i] = dc[i] = c[i] = make_float2(0.0f, 0.0f);
      if (!has(i)) continue;
      const Pair cell = cells[i];
      const int at = kept_place(cell.octet, cell.unit, cell.column);
      dh[i] = start(p.dh_last, cell), dc[i] = start(p.dc_last, cell);
      c[i] = unpacked(*(const unsigned *)(last_cells + at));
    }
    stages_arrived<STAGES - 2>();
    __syncthreads();

#pragma unroll 1
    for (int step = 0; step < T; step++, exchange++) {
      const int t = T - 1 - step;
      if (!GRID && thread == 0 && !watch.over) expect(shared + exchange % 2 * 8, BLOCKS * SLICE);

      // All that does not need dh is ready before the parts of dh are waited for.
      const unsigned char *stage = memory + KEPT + step % STAGES * STAGE;
      Factors by[PAIRS][2];
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        if (!has(i)) continue;
        const Pair cell = cells[i];
        const int at = kept_place(cell.octet, cell.unit, cell.column);
        const uint4 gates = *(const uint4 *)(stage + at * 8);
        const float2 before = unpacked(*(const unsigned *)(stage + OPERAND + at * 2));
        const float2 dy = unpacked(*(const unsigned *)(
            stage + OPERAND + SLICE + (cell.octet * 8 + cell.column) * DY_ROW + cell.unit * 2));
        by[i][0] = factors_of(unpacked(gates.x), unpacked(gates.y), c[i].x, before.x);
        by[i][1] = factors_of(unpacked(gates.z), unpacked(gates.w), c[i].y, before.y);
        c[i] = before;
        dh[i].x += dy.x, dh[i].y += dy.y;
      }
      if (step) add_parts(exchange - 1, dh);
      if (GRID) fetch(step + STAGES - 1);  // after the polls, which it would hold up

      const int dgates = DGATES + exchange % 2 * OPERAND;
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        if (!has(i)) continue;
        const Pair cell = cells[i];
        const Factors one = by[i][0], two = by[i][1];
        if (ANEW) ended[i] = __float_as_uint(one.before) >> 31;  // f is -0
        const float dc1 = fmaf(dh[i].x, one.c, dc[i].x), dc2 = fmaf(dh[i].y, two.c, dc[i].y);
        const unsigned d[4] = {packed(dc1 * one.i, dc2 * two.i), packed(dc1 * one.f, dc2 * two.f),
                               packed(dc1 * one.g, dc2 * two.g),
                               packed(dh[i].x * one.o, dh[i].y * two.o)};
        dc[i] = make_float2(dc1 * one.before, dc2 * two.before);
        dh[i] = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int gate = 0; gate < 4; gate++) {
          const int block = (gate * UNITS + cell.unit) / 8 * OCTETS + cell.octet;
          *(unsigned *)(memory + dgates + block * 128 + cell.column * 16 + cell.unit % 8 * 2) =
              d[gate];
        }
      }
      publish_to_async();
      stages_arrived<GRID ? STAGES - 2 : STAGES - 3>();
      __syncthreads();

      // One group of parts travels while the next is made.
      float sum[PARTS][OCTETS * 4];
#pragma unroll
      for (int group = 0; group < GROUPS; group++) {
        begin_products();
#pragma unroll
        for (int k = 0; k < 8; k++) {
          const Operand b = operand(shared + dgates, k);
#pragma unroll
          for (int m = group * (PARTS / GROUPS); m < (group + 1) * (PARTS / GROUPS); m++)
            if (m < FIRST_PARTS)
              multiply(sum[m], ut[m % FIRST_PARTS][k], b, k > 0);
            else
              multiply(sum[m], shared + WEIGHTS + ((m - FIRST_PARTS) * 8 + k) * MORE_WEIGHTS, b,
                       k > 0);
        }
        end_products();
        products_done();
#pragma unroll
        for (int m = group * (PARTS / GROUPS); m < (group + 1) * (PARTS / GROUPS); m++)
          settled(sum[m]);
#pragma unroll
        for (int f = group * FRAGMENTS; f < (group + 1) * FRAGMENTS; f++) {
          const int number = warp * PARTS + f / OCTETS, peer_rank = number / 2;
          if (number >= H / 16 || watch.over) continue;
          // Its place in the slice. Two fragments make one store, unless they are two warps'.
          const int place = number % 2 * OCTETS + f % OCTETS;
          const bool pairs = f + 1 < PARTS * OCTETS;
          const float *one = &sum[f / OCTETS][f % OCTETS * 4];
          const float *two = &sum[(f + pairs) / OCTETS][(f + pairs) % OCTETS * 4];
#if GRID
          const uint4 w = make_uint4(packed(one[0], one[2]), packed(one[1], one[3]),
                                     packed(two[0], two[2]), packed(two[1], two[3]));
          if ((f / OCTETS % 2 * OCTETS + f % OCTETS) % 2 == 0)
            send_piece(slice_of(exchange, rank, warp * (PARTS / 2) + f / OCTETS / 2) +
                           in_warp * 16 + (f / OCTETS % 2 * OCTETS + f % OCTETS) / 2 * 512,
                       w, LAST_BIT, exchange);
#else
          const unsigned peer = at_peer(shared, peer_rank), barrier = peer + exchange % 2 * 8;
          const unsigned target = peer + ARRIVED + (exchange % 2 * BLOCKS + rank) * SLICE +
                                  place / 2 * 512 + in_warp * 16 + place % 2 * 8;
          const unsigned w[4] = {packed(one[0], one[2]), packed(one[1], one[3]),
                                 packed(two[0], two[2]), packed(two[1], two[3])};
          if (place % 2 == 0 && pairs)
            send16(target, w, barrier);
          else if (place % 2 == 0 || f == 0)
            send8(target, w[0], w[1], barrier);
#endif
        }
      }

      // While they travel:
      write(t, memory + dgates);
      if (!GRID) fetch(step + STAGES - 1);
    }

    add_parts(exchange - 1, dh);
    float *scratch = (float *)(memory + KEPT);  // [gate][unit][16]
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      if (!has(i)) continue;
      const Pair cell = cells[i];
      const int lane = cell.octet * 8 + cell.column;
      if (lane < count) {
        const long long at = (long long)(first + lane) * H + own + cell.unit;
        *(unsigned *)(p.dh0 + at) = packed(dh[i].x, dh[i].y);
        *(unsigned *)(p.dc0 + at) = packed(dc[i].x, dc[i].y);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) scratch[(eight * 8 + i) * 16 + thread / 128 * 8 + thread % 8] = sums[i];
    __syncthreads();
    if (thread < 4 * UNITS) {
      float total = 0.0f;
      for (int i = 0; i < 16; i++) total += scratch[thread * 16 + i];
      p.dbias[(long long)tile * 4 * H + thread / UNITS * H + own + thread % UNITS] = total;
    }
    __syncthreads();  // before the next tile's kept values arrive there
  }
  cluster_barrier();  // nobody ends while others may still send to it
}
