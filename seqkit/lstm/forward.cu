// Forward: T steps of one layer.
//
//   i, f, g, o = x[t] + b + d + u h[t-1]     c = σ(f) c + σ(i) tanh(g)     h = σ(o) tanh(c)
//
// A step, in a block: x[t] + b + d goes into the sums of the product; as the slices of h[t-1] arrive
// from the other blocks, u is multiplied by them; two neighbouring threads swap halves of their sums,
// so that each has all four gates of its cells; the new slice of h goes to all blocks; and while it
// travels, what the backward pass needs is written.
//
// Exchange number n (the h that step n reads, counted over all tiles) arrives in buffer n % 2.
// A block sends exchange n + 1 after it has used n, and it can only have used n after all others
// sent it, which they did after they had used n - 1: the buffer that n + 1 goes to is free, and the
// phase of its barrier that counted n - 1 has ended. This also holds from tile to tile. After the
// last step nothing is sent, so nothing arrives at a block that may have ended.

struct Forward {
  const half *inputs;        // (T, B, 4H): w x; or (V, 4H), a row for each symbol
  const long long *symbols;  // (T, B): which rows of `inputs`; or null
  const half *u;             // (4H, H)
  const half *b, *d;         // (4H,)
  const half *h0, *c0;       // (B, H)
  const unsigned char *resets;  // (T, B): the state after these steps is zero, or with ANEW the one
                                // before them; or null
  half *y;                   // (T + 1, B, H): h0, and h of every step
  half *c_last;              // (B, H)
  half *gates, *cells;       // (T, tiles, ...), (T + 1, tiles, ...): kept for the backward pass
  int *error;
  int steps, lanes, tiles;   // T, B, ceil(B / LANES)
  unsigned char *exchange;   // with GRID: of each group 2 buffers of BLOCKS slices, zeros at first
};

// Products begin when the first chunk of h is there.
#define CHUNKS (GRID ? (BLOCKS * OCTETS > 32 ? 2 : 1) : BLOCKS % 4 ? 2 : 4)
#define SLOTS (BLOCKS / CHUNKS)            // slices in a chunk
#define ROW (4 * UNITS * 2 + 16)           // bytes of a lane's inputs; 16 against bank conflicts
#define HIDDEN 1024                        // 2 buffers of h: BLOCKS slices, each an operand
#define OUTGOING (HIDDEN + (GRID ? 1 : 2) * BLOCKS * SLICE)  // 2 buffers of the block's own slice
#define INPUTS (OUTGOING + 2 * SLICE)      // STAGES steps of inputs
#define WEIGHTS (INPUTS + STAGES * LANES * ROW)  // those that are not in registers
#define CHUNK (SLOTS * SLICE)
#define PER_CHUNK ((CHUNK / 16 + THREADS - 1) / THREADS)  // 16-byte pieces of a thread
#define FREE_BIT 0x4000u                   // of a number between -1 and 1, as those of h are
#define PIECES ((LANES * 16 + THREADS - 1) / THREADS)  // a thread's 16-byte pieces of a step

extern "C" __global__ void __launch_bounds__(THREADS, 1) lstm_forward(const Forward p) {
  extern __shared__ __align__(128) unsigned char memory[];
  const unsigned shared = address_of(memory), rank = rank_in_group();
  const int thread = threadIdx.x, warp = thread / 32, in_warp = thread % 32;
  // In a product's sums a thread has two rows and, of each eight lanes, two. The rows are laid out
  // so that these are two gates of one unit: i and f, or in the upper half of the warp g and o.
  const int row = in_warp / 4, pair = in_warp % 4, upper = row / 4;
  const int unit = warp * 4 + row % 4;    // of the block, of all this thread's cells
  const int column = 2 * pair + upper;    // of its cells in each eight lanes
  const int own = rank * UNITS;           // the block's first unit
  const int B = p.lanes, T = p.steps;
  Watch watch{p.error};

  if (!GRID && thread == 0) make_barriers(shared, 2 * CHUNKS);
  cluster_barrier();  // all barriers are ready before the first slice travels

  // Slices are kept in the order in which a block wants them, its own first: slot s of a block
  // holds the slice of block rank + s.
  unsigned u[H / 16 < RESIDENT ? H / 16 : RESIDENT][4];
  const int gate = upper * 2;             // and gate + 1
  const long long first_row = (long long)gate * H + own + unit;
#pragma unroll
  for (int k = 0; k < H / 16; k++)
#pragma unroll
    for (int part = 0; part < 4; part++) {
      const int source = (rank + k / 2) % BLOCKS;
      const int at = source * UNITS + k % 2 * 16 + part / 2 * 8 + 2 * pair;
      const unsigned word = *(const unsigned *)(p.u + (first_row + part % 2 * H) * H + at);
      if (k < RESIDENT) u[k % RESIDENT][part] = word;
      else *more_weights(memory + WEIGHTS + (k - RESIDENT) * MORE_WEIGHTS, part) = word;
    }
  float bias[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const long long at = first_row + i * H;
    bias[i] = number(p.b[at]) + number(p.d[at]);
  }

#if !GRID
  const int slot = in_warp * 8 + warp;    // two threads of each warp send, each to one block
  const bool sends = slot < BLOCKS;
  const unsigned peer = at_peer(shared, (rank + BLOCKS - slot % BLOCKS) % BLOCKS);
#endif
  // The block's slice as 16-byte pieces: 8 units of a lane.
  const int slice_lane = thread / 32 * 8 + thread % 8, slice_units = thread / 8 % 4 * 8;
  const bool has_piece = thread < LANES * 4;
  const int slice_at = (slice_units / 8 * OCTETS + thread / 32) * 128 + thread % 8 * 16;
  int exchange = 0;

#if GRID
  // The slices of h, in the order of their blocks.
  auto buffer = [&](int number) {
    return p.exchange + ((long long)(blockIdx.x / BLOCKS) * 2 + (number & 1)) * BLOCKS * SLICE;
  };
  auto expect_exchange = [&](int number) {};
  auto send_slice = [&](int number) {
    if (!has_piece || watch.over) return;
    const uint4 piece = *(const uint4 *)(memory + OUTGOING + number % 2 * SLICE + slice_at);
    send_piece(buffer(number) + rank * SLICE + slice_at, piece, FREE_BIT, number);
  };
#else
  auto expect_exchange = [&](int number) {
    if (thread < CHUNKS && !watch.over)
      expect(shared + (number % 2 * CHUNKS + thread) * 8, SLOTS * SLICE);
  };
  auto send_slice = [&](int number) {
    if (!sends || watch.over) return;
    const unsigned source = shared + OUTGOING + number % 2 * SLICE;
    const unsigned target = peer + HIDDEN + (number % 2 * BLOCKS + slot) * SLICE;
    const unsigned barrier = peer + (number % 2 * CHUNKS + slot / SLOTS) * 8;
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(target), "r"(source), "r"(SLICE), "r"(barrier) : "memory");
  };
#endif

  for (int tile = blockIdx.x / BLOCKS; tile < p.tiles; tile += gridDim.x / BLOCKS) {
    const int first = tile * LANES, count = min(LANES, B - first);

    // The rows of `inputs` that this thread's pieces come from; those of symbols are read a step
    // before they are needed.
    long long rows[PIECES];
    auto look_up = [&](int t) {
#pragma unroll
      for (int i = 0; i < PIECES; i++) {
        const int lane = (i * THREADS + thread) / 16;
        const long long at = (long long)t * B + first + lane;
        if (t < T && lane < count) rows[i] = p.symbols ? p.symbols[at] : at;
      }
    };
    auto fetch = [&](int t) {
#pragma unroll
      for (int i = 0; i < PIECES; i++) {
        const int piece = i * THREADS + thread, lane = piece / 16;
        const int at = piece / 4 % 4 * H + own + piece % 4 * 8;
        const bool zeros = lane >= count;
        const half *source = p.inputs + (zeros ? 0 : rows[i] * (4 * H) + at);
        if (t < T && piece < LANES * 16)
          fetch16(shared + INPUTS + (t % STAGES * LANES + lane) * ROW + piece % 16 * 16, source,
                  zeros);
      }
      end_of_stage();
    };
    // Which of this thread's cells end at step t, a bit each.
    auto resets_at = [&](int t) {
      unsigned found = 0;
      if (p.resets && t < T)
#pragma unroll
        for (int e = 0; e < OCTETS; e++)
          if (e * 8 + column < count && p.resets[(long long)t * B + first + e * 8 + column])
            found |= 1u << e;
      return found;
    };

    // Whether the lane's first step begins with zeros in place of h0.
    auto begins_anew = [&](int lane) { return ANEW && p.resets && p.resets[first + lane]; };

    for (int t = 0; t < STAGES - 1; t++) {
      look_up(t);
      fetch(t);
    }
    look_up(STAGES - 1);
    unsigned resets = resets_at(0);

    // Where this thread writes: its piece of the slice, and its cells of the first eight lanes.
    const long long slice_from = (long long)(first + slice_lane) * H + own + slice_units;
    half *y = p.y + slice_from;
    const long long kept_from =
        kept_block(0, p.tiles, tile, rank) + kept_place(0, unit, column);
    half *kept_gates = p.gates + 4 * kept_from, *kept_cells = p.cells + kept_from;
    const int kept_step = p.tiles * LANES * H;

    __syncthreads();  // the last tile's slice has been read
    if (has_piece) {
      uint4 piece = make_uint4(0, 0, 0, 0);
      if (slice_lane < count) {
        piece = *(const uint4 *)(p.h0 + slice_from);
        *(uint4 *)y = piece;
        if (begins_anew(slice_lane)) piece = make_uint4(0, 0, 0, 0);
      }
      *(uint4 *)(memory + OUTGOING + exchange % 2 * SLICE + slice_at) = piece;
    }
    float c[OCTETS];
#pragma unroll
    for (int e = 0; e < OCTETS; e++) {
      const int lane = e * 8 + column;
      const half start = lane < count ? p.c0[(long long)(first + lane) * H + own + unit] : 0;
      kept_cells[kept_place(e, 0, 0)] = start;
      c[e] = number(start);
    }
    publish_to_async();
    stages_arrived<STAGES - 2>();
    __syncthreads();
    if (GRID) {
      exchange--;  // every block reads h0 by itself
    } else {
      expect_exchange(exchange);
      send_slice(exchange);
    }

#pragma unroll 1
    for (int t = 0; t < T; t++, exchange++) {
      const bool last = t + 1 == T;
      if (!last) expect_exchange(exchange + 1);
      unsigned next_resets = 0;
      auto fetch_ahead = [&]() {
        fetch(t + STAGES - 1);
        look_up(t + STAGES);
        next_resets = resets_at(t + 1);
      };
      if (!GRID) fetch_ahead();

      float sum[SETS][OCTETS * 4];
      const unsigned char *inputs = memory + INPUTS + t % STAGES * LANES * ROW;
#pragma unroll
      for (int i = 0; i < OCTETS * 4; i++) {
        const int lane = i / 4 * 8 + 2 * pair + i % 2, which = i / 2 % 2;
        const half x = *(const half *)(inputs + lane * ROW + ((gate + which) * UNITS + unit) * 2);
        sum[0][i] = number(x) + bias[which];
      }
      auto multiply_chunk = [&](unsigned h, int chunk) {
        begin_products();
#pragma unroll
        for (int k = chunk * SLOTS * 2; k < (chunk + 1) * SLOTS * 2; k++) {
          const bool keep = k == 0 || k >= SETS;
          if (k < RESIDENT)
            multiply(sum[k % SETS], u[k % RESIDENT], operand(h, k), keep);
          else
            multiply(sum[k % SETS], shared + WEIGHTS + (k - RESIDENT) * MORE_WEIGHTS,
                     operand(h, k), keep);
        }
        end_products();
      };
#if GRID
      // Piece i of a chunk, in the order of the operand, and its place in the exchange. Threads
      // for which there is none read the last one, too.
      const unsigned char *from = buffer(exchange);
      auto number_of = [&](int chunk, int i) {
        return chunk * (CHUNK / 16) + min(i * THREADS + thread, CHUNK / 16 - 1);
      };
      auto place_of = [&](int chunk, int i) {
        const int at = number_of(chunk, i) * 16 + rank * SLICE;
        return from + (at < BLOCKS * SLICE ? at : at - BLOCKS * SLICE);
      };
      auto h0_of = [&](int number) {
        const int slot = number / (32 * OCTETS), inside = number % (32 * OCTETS);
        const int lane = inside % (8 * OCTETS), units = inside / (8 * OCTETS) * 8;
        const long long at = (long long)(first + lane) * H + (rank + slot) % BLOCKS * UNITS + units;
        const bool has_h0 = lane < count && !begins_anew(lane);
        return has_h0 ? *(const uint4 *)(p.h0 + at) : make_uint4(0, 0, 0, 0);
      };
      uint4 got[CHUNKS][PER_CHUNK];
      auto ask = [&](int chunk) {
#pragma unroll
        for (int i = 0; i < PER_CHUNK; i++) got[chunk][i] = load_piece(place_of(chunk, i));
      };
      ask(0);
#pragma unroll
      for (int chunk = 0; chunk < CHUNKS; chunk++) {
        auto place = [&](int i) { return place_of(chunk, i); };
        if (t) await_pieces(got[chunk], place, FREE_BIT, exchange, watch);
#pragma unroll
        for (int i = 0; i < PER_CHUNK; i++) {
          const int number = number_of(chunk, i);
          uint4 piece = got[chunk][i];
          piece.x &= ~FREE_BIT;
          if (!t) piece = h0_of(number);
          *(uint4 *)(memory + HIDDEN + number * 16) = piece;
        }
        if (chunk + 1 < CHUNKS) ask(chunk + 1);
        publish_to_async();
        __syncthreads();
        if (chunk + 1 == CHUNKS) fetch_ahead();  // after the polls, which it would hold up
        multiply_chunk(shared + HIDDEN, chunk);
      }
#else
#pragma unroll
      for (int chunk = 0; chunk < CHUNKS; chunk++) {
        watch.await(shared + (exchange % 2 * CHUNKS + chunk) * 8, exchange / 2 % 2);
        multiply_chunk(shared + HIDDEN + exchange % 2 * BLOCKS * SLICE, chunk);
      }
#endif
      products_done();
#pragma unroll
      for (int set = 0; set < SETS; set++) settled(sum[set]);

      float new_h[OCTETS];
      uint2 new_gates[OCTETS];
#pragma unroll
      for (int e = 0; e < OCTETS; e++) {
        float total[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          total[i] = sum[0][e * 4 + i];
#pragma unroll
          for (int set = 1; set < SETS; set++) total[i] += sum[set][e * 4 + i];
        }
        // The lower thread keeps the first of the two lanes, the upper one the second.
        const float got0 = __shfl_xor_sync(~0u, upper ? total[0] : total[1], 16);
        const float got1 = __shfl_xor_sync(~0u, upper ? total[2] : total[3], 16);
        const float kept0 = upper ? total[1] : total[0], kept1 = upper ? total[3] : total[2];
        float i = sigmoid_of(upper ? got0 : kept0), f = sigmoid_of(upper ? got1 : kept1);
        float g = tanh_of(upper ? kept0 : got0), o = sigmoid_of(upper ? kept1 : got1);
        // Gates that are all zero end a state, and in the backward pass every gradient. A state
        // begins anew with f = -0, which no sigmoid gives: the backward pass knows it by that.
        if (resets >> e & 1) {
          if (ANEW) f = -0.0f, c[e] = 0.0f;
          else i = f = g = o = 0.0f;
        }
        if (watch.over) o = __int_as_float(0x7fffffff);
        new_h[e] = next_h(i, f, g, o, c[e], tanh_of);
        new_gates[e] = make_uint2(packed(i, f), packed(g, o));
      }
      // Four threads have the four units of a lane: each ends up with all four of some octet,
      // 8 bytes of the operand that the slice is.
      unsigned quads[OCTETS][2];
#pragma unroll
      for (int e = 0; e < OCTETS; e += 2) {
        const int second = (e + 1) % OCTETS;
        const unsigned mine = packed(new_h[e], new_h[second]);
        const unsigned other = __shfl_xor_sync(~0u, mine, 4);
        const unsigned even = row & 1 ? other : mine, odd = row & 1 ? mine : other;
        const unsigned first2 = __byte_perm(even, odd, 0x5410);
        const unsigned second2 = __byte_perm(even, odd, 0x7632);
        const unsigned first4 = __shfl_xor_sync(~0u, first2, 8);
        const unsigned second4 = __shfl_xor_sync(~0u, second2, 8);
        quads[e][0] = row & 2 ? first4 : first2, quads[e][1] = row & 2 ? first2 : first4;
        quads[second][0] = row & 2 ? second4 : second2;
        quads[second][1] = row & 2 ? second2 : second4;
      }
      unsigned char *slice = memory + OUTGOING + (exchange + 1) % 2 * SLICE;
#pragma unroll
      for (int e = 0; e < OCTETS; e++)
        if (row % 4 == e) {
          uint2 quad = make_uint2(quads[e][0], quads[e][1]);
          if (ANEW) {  // the others get zeros where a state begins, so h is not written from there
            const long long place = (long long)(t + 1) * B + first + e * 8 + column;
            if (e * 8 + column < count) *(uint2 *)(p.y + place * H + own + warp * 4) = quad;
            if (next_resets >> e & 1) quad = make_uint2(0, 0);
          }
          *(uint2 *)(slice + (warp / 2 * OCTETS + e) * 128 + column * 16 + warp % 2 * 8) = quad;
        }
      publish_to_async();
      stages_arrived<STAGES - 2>();
      __syncthreads();
      if (!last) send_slice(exchange + 1);

      resets = next_resets;
      if (!ANEW && has_piece && slice_lane < count)
        *(uint4 *)(y + (long long)(t + 1) * B * H) = *(const uint4 *)(slice + slice_at);
      half *step_gates = kept_gates + 4 * (long long)t * kept_step;
      half *step_cells = kept_cells + (long long)(t + 1) * kept_step;
#pragma unroll
      for (int e = 0; e < OCTETS; e++) {
        const int at = kept_place(e, 0, 0);
        *(uint2 *)(step_gates + 4 * at) = new_gates[e];
        step_cells[at] = saturated(c[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < OCTETS; e++)
      if (e * 8 + column < count)
        p.c_last[(long long)(first + e * 8 + column) * H + own + unit] = saturated(c[e]);
  }
  cluster_barrier();  // nobody ends while others may still read its slice
}
