// A network's step and its draw in WebAssembly, for the wasm engine and the exported page.
//
// Built by (with ziglang 0.17.1 from the index; for step_relaxed.wasm with -DRELAXED -mrelaxed-simd)
//   python -m ziglang cc -target wasm32-freestanding -O3 -msimd128 -mbulk-memory -ffp-contract=off
//     -nostdlib -Wl,--no-entry -Wl,--export-dynamic -Wl,--strip-all step.c -o step.wasm
//
// The same bits on every machine: products are of integers, activations in 7 bits, so that no pair
// of products leaves the 16 bits within which processors agree about a relaxed dot product; exp is
// made of IEEE additions, products and divisions. Weights lie in memory as wasm.py has them:
// L layers, H hidden units rounded up to 16, V symbols, P symbols a step; if those are several, M
// the size of z, from which each is written, rounded up to 16 (seqkit/model/frames.py).
#include <wasm_simd128.h>

#define EXPORT __attribute__((visibility("default")))
#define BLOCK 1024    // symbols that `run` draws at most,
#define FED 128       // and that are fed at most
#define ROWS 16       // of a matrix that are multiplied side by side
#define UNITS 64      // an activation in [-1, 1) is a multiple of its inverse
#define FINEST 127    // the largest integer that stands for z
#define PLACES 64     // symbols of a step at most
#define EACH(i, count) for (int i = 0; i < (count); i++)

typedef unsigned long long u64;
typedef float f4 __attribute__((vector_size(16)));
typedef int i4 __attribute__((vector_size(16)));
typedef struct { short *values; float *scales; int rows, columns; } Table;
typedef struct { signed char *embedded, *reader; float *rows, *gates; } Factors;     // and scales
typedef struct { float *bias, *scales; int *sums; signed char *values; int rows, columns; } Matrix;

extern unsigned char __heap_base;
static struct {
  double draws[BLOCK];
  int symbols[BLOCK];
  float probabilities[BLOCK];                         // of the symbols, at temperature 1
} io;
static int L, H, V, P, M, E, known, skips;            // known: symbols of the input, V or more
static Table input, labelled;                         // the former of P (known + 1) rows of 4 H
static Factors of_input;                              // if E, of which the former is made
static double *sums;                                  // of a row of it
static Table drawn;                                   // of (P - 1) known rows of M,
static signed char *of_drawn;                         // which come in 8 bits
static Matrix layer[64], hidden, head[PLACES];
static float *gates, *logits, *summed, *products, *z; // products: W h + a, (P, M)
static struct { const short *values; float scale; } chosen[PLACES + 1];       // rows of tables,
static int chosen_count;                                                      // to be added up
static double *scaled, *shares, temperature = 1, top_p = 1;
static int *order, top_k, wants_probabilities;
static void *activations;
static u64 top;                                       // of the memory that is in use

static void *take(u64 bytes) {
  u64 begin = (top + 15) / 16 * 16;
  top = begin + bytes;
  u64 pages = __builtin_wasm_memory_size(0), needed = (top + 65535) / 65536;
  if (needed > pages && __builtin_wasm_memory_grow(0, needed - pages) == -1ul) __builtin_trap();
  return (void *)(unsigned long)begin;
}

static Table table(int rows, int columns) {
  short *values = take(2ull * columns * rows);
  return (Table){values, take(4ull * rows), rows, columns};
}

static Factors factors(int rows) {
  signed char *embedded = take((u64)rows * E), *reader = take(4ull * H * E);   // each row of E
  float *of_rows = take(4ull * rows);
  return (Factors){embedded, reader, of_rows, take(16ull * H)};
}

static Matrix matrix(int rows, int columns) {
  float *bias = take(4ull * rows), *scales = take(4ull * rows);
  int *sums = take(4ull * rows);                      // of each row, times the activations' offset
  return (Matrix){bias, scales, sums, take((u64)rows * columns), rows, columns};
}

EXPORT void *reserve(unsigned bytes) { return take(bytes); }
EXPORT void *buffers(void) { return &io; }
EXPORT float *logits_at(void) { return logits; }      // FED rows of V, rounded up to 16

// Of h and c (L, H), how many inputs of the step under way were fed, and the P symbols since the
// last step, counted from 1.
EXPORT int state_size(void) { return 4 * (2 * L * H + (P + 4) / 4 * 4); }

// Lay a network out in memory; its weights go to the address that is returned, and then to `fill`.
EXPORT void *arrange(int layers, int units, int symbols, int rows, int labels, int has_skips,
                     int places, int size_of_z, int width) {
  L = layers; H = units; V = symbols; known = rows;
  P = places; M = size_of_z; E = width; skips = has_skips;
  top = (unsigned long)&__heap_base;
  void *begin = take(0);
  if (E) of_input = factors(P * (known + 1));
  else input = table(P * (known + 1), 4 * H);
  labelled = table(labels, 4 * H);
  EACH(l, L) layer[l] = matrix(4 * H, l ? 2 * H : H);
  if (P > 1) {
    hidden = matrix(P * M, H); of_drawn = take((P - 1ull) * known * M);
    drawn = (Table){0, take(4ull * (P - 1) * known), (P - 1) * known, M};
  }
  EACH(p, P) head[p] = matrix((V + ROWS - 1) / ROWS * ROWS, P > 1 ? M : H);
  gates = take(16ull * H); summed = take(4ull * H); activations = take(4ull * H + 2ull * M);
  products = take(4ull * P * M); z = take(4ull * M);
  logits = take(4ull * FED * head[0].rows); order = take(4ull * V);
  scaled = take(8ull * V); shares = take(8ull * V);
  if (E) {
    sums = take(32ull * H); input = table(P * (known + 1), 4 * H);
  }
  drawn.values = take(2ull * drawn.rows * drawn.columns);
  return begin;
}

// In whole numbers and double precision, so that the engine and the page make the same tables.
static void multiply_out(Table t, Factors of) {
  EACH(r, t.rows) {
    short *values = t.values + (u64)r * t.columns;
    double most = 32767.0 * 0x1p-126;
    EACH(c, t.columns) {
      int sum = 0;
      EACH(e, E) sum += of.embedded[r * E + e] * of.reader[c * E + e];
      sums[c] = sum * (double)of.gates[c];
      most = __builtin_fabs(sums[c]) > most ? __builtin_fabs(sums[c]) : most;
    }
    EACH(c, t.columns) values[c] = (short)(int)__builtin_rint(sums[c] / (most / 32767));
    t.scales[r] = (float)(most / 32767 * of.rows[r]);
  }
}

// Make the tables that come in 8 bits: so a page of sound has half of the bytes.
EXPORT void fill(void) {
  if (E) multiply_out(input, of_input);
  EACH(i, drawn.rows * drawn.columns) drawn.values[i] = of_drawn[i];
}

EXPORT void rule(double divisor, int most, double share, int wants) {
  temperature = divisor; top_k = most; top_p = share; wants_probabilities = wants;
}

static u64 high_product(u64 a, u64 b) {
  u64 a1 = a >> 32, a0 = (unsigned)a, b1 = b >> 32, b0 = (unsigned)b;
  u64 inner = a1 * b0 + (a0 * b0 >> 32);
  __asm__("" : "+r"(inner));                          // else clang calls a library for it
  u64 outer = a0 * b1 + (unsigned)inner;
  return a1 * b1 + (inner >> 32) + (outer >> 32);
}

// Draws `position` ... of a stream: Philox4x64-10, as seqkit/foundation/randomness.py has it.
EXPORT void uniforms(u64 seed, u64 stream, u64 position, int count) {
  const u64 m0 = 0xD2E7470EE14C6C93, m1 = 0xCA5A826395121157;
  EACH(i, count) {
    u64 w[4] = {(position + i) / 4}, key0 = seed, key1 = stream;
    EACH(round, 10) {
      u64 high0 = high_product(m0, w[0]), high1 = high_product(m1, w[2]), low0 = m0 * w[0];
      w[0] = high1 ^ w[1] ^ key0; w[1] = m1 * w[2];
      w[2] = high0 ^ w[3] ^ key1; w[3] = low0;
      key0 += 0x9E3779B97F4A7C15; key1 += 0xBB67AE8584CAA73B;
    }
    io.draws[i] = (double)(w[(position + i) % 4] >> 11) * 0x1p-53;
  }
}

static f4 clamp(f4 x, float least, float most) {
  return wasm_f32x4_min(wasm_f32x4_splat(most), wasm_f32x4_max(wasm_f32x4_splat(least), x));
}

static float largest(const float *x, int n, float least) {    // of n numbers, or `least`
  f4 found = wasm_f32x4_splat(least);
  for (int i = 0; i < n / 4 * 4; i += 4) found = wasm_f32x4_pmax(found, *(f4 *)(x + i));
  EACH(i, 4) least = found[i] > least ? found[i] : least;
  for (int i = n / 4 * 4; i < n; i++) least = x[i] > least ? x[i] : least;
  return least;
}

// Make n numbers integers of 7 bits from `least` on, and activations from `place` on.
static void quantise(const float *x, int n, int place, float scale, int least) {
  for (int i = 0; i < n; i += 4) {
    f4 rounded = clamp(wasm_f32x4_nearest(*(f4 *)(x + i) * scale), least, least + FINEST);
    i4 v = wasm_i32x4_trunc_sat_f32x4(rounded);
#ifdef RELAXED
    v -= least;
    v = wasm_i16x8_narrow_i32x4(v, v);
    wasm_v128_store32_lane((char *)activations + place + i, wasm_i8x16_narrow_i16x8(v, v), 0);
#else
    wasm_v128_store64_lane((short *)activations + place + i, wasm_i16x8_narrow_i32x4(v, v), 0);
#endif
  }
}

// y = base + scales * unit * (values activations), for all rows.
static void multiply(const Matrix *m, const float *base, float *y, float unit) {
  const signed char *w = m->values;
  for (int r = 0; r < m->rows; r += ROWS) {
    i4 a[4];
#ifdef RELAXED
    EACH(q, 4) a[q] = *(i4 *)(m->sums + r + 4 * q);
    for (int c = 0; c < m->columns; c += 4, w += 4 * ROWS) {
      v128_t x = wasm_v128_load32_splat((char *)activations + c);
      EACH(q, 4) a[q] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(w + 16 * q), x, a[q]);
    }
#else
    i4 low[4] = {0}, high[4] = {0};
    for (int c = 0; c < m->columns; c += 4, w += 4 * ROWS) {
      v128_t x = wasm_v128_load64_splat((short *)activations + c);
      EACH(q, 4) {
        low[q] += (i4)wasm_i32x4_dot_i16x8(wasm_i16x8_load8x8(w + 16 * q), x);
        high[q] += (i4)wasm_i32x4_dot_i16x8(wasm_i16x8_load8x8(w + 16 * q + 8), x);
      }
    }
    EACH(q, 4) a[q] = (i4)wasm_i32x4_shuffle(low[q], high[q], 0, 2, 4, 6) +
                      (i4)wasm_i32x4_shuffle(low[q], high[q], 1, 3, 5, 7);
#endif
    EACH(q, 4) {
      int i = r + 4 * q;
      f4 product = (f4)wasm_f32x4_convert_i32x4(a[q]) * (*(f4 *)(m->scales + i) * unit);
      *(f4 *)(y + i) = *(f4 *)(base + i) + product;
    }
  }
}

static void choose(Table t, int row) {
  chosen[chosen_count].values = t.values + (u64)row * t.columns;
  chosen[chosen_count++].scale = t.scales[row];
}

static void add_chosen(const float *base, float *y, int columns) {     // y = base + those rows
  for (int i = 0; i < columns; i += ROWS) {
    f4 sums[4];
    EACH(q, 4) sums[q] = *(f4 *)(base + i + 4 * q);
    EACH(k, chosen_count)
      EACH(q, 4) {
        v128_t values = wasm_i32x4_load16x4(chosen[k].values + i + 4 * q);
        sums[q] += (f4)wasm_f32x4_convert_i32x4(values) * chosen[k].scale;
      }
    EACH(q, 4) *(f4 *)(y + i + 4 * q) = sums[q];
  }
  chosen_count = 0;
}

// exp by Taylor's series of 2**(x log2(e) - n) around 0, to 2e-7 of the result.
static f4 exponentials(f4 x) {
  x = clamp(x, -80, 80);
  f4 n = wasm_f32x4_nearest(x * 1.44269504f);
  f4 r = x - n * 0.693145752f - n * 1.42860677e-6f, y = r * (1 / 720.0f) + 1 / 120.0f;
  y = (((y * r + 1 / 24.0f) * r + 1 / 6.0f) * r + 0.5f) * r * r + r + 1.0f;
  return (f4)((i4)y + ((i4)wasm_i32x4_trunc_sat_f32x4(n) << 23));
}

static f4 sigmoid(f4 x) { return 1.0f / (1.0f + exponentials(-x)); }
static f4 tangent(f4 x) { return 1.0f - 2.0f / (1.0f + exponentials(2.0f * x)); }

static void advance(float *h, float *c) {
  for (int k = 0; k < H; k += 4) {
    f4 *i = (f4 *)(gates + k), *now = (f4 *)(c + k);   // then come f, g and o
    f4 input_gate = sigmoid(*i), forget = sigmoid(i[H / 4]), output = sigmoid(i[3 * H / 4]);
    *now = forget * *now + input_gate * tangent(i[2 * H / 4]);
    *(f4 *)(h + k) = output * tangent(*now);
  }
}

// Logits of h (L, H), or if a step makes several symbols, `products`.
static void look(const float *h, float *to) {
  __builtin_memcpy(summed, h + (L - 1) * H, 4 * H);
  if (skips) EACH(k, (L - 1) * H) summed[k % H] += h[k];
  quantise(summed, H, 0, skips ? (float)UNITS / L : UNITS, -UNITS);
  const Matrix *m = P > 1 ? &hidden : head;
  multiply(m, m->bias, P > 1 ? products : to, 1);
}

static void advance_layers(float *h, float *c, const float *symbols, int label) {
  EACH(p, P) choose(input, p * (known + 1) + (int)symbols[p]);
  if (labelled.rows) choose(labelled, label);
  add_chosen(layer[0].bias, gates, 4 * H);
  EACH(l, L) {
    if (l) quantise(h + (l - 1) * H, H, 0, UNITS, -UNITS);
    quantise(h + l * H, H, l ? H : 0, UNITS, -UNITS);
    multiply(&layer[l], l ? layer[l].bias : gates, gates, 1);
    advance(h + l * H, c + l * H);
  }
}

// Logits of what follows so many symbols of a frame.
static void write(const float *symbols, int fed, float *to) {
  EACH(p, fed) choose(drawn, p * known + (int)symbols[p] - 1);
  add_chosen(products + fed * M, z, M);
  const float most = largest(z, M, 1e-30f);
  quantise(z, M, 0, FINEST / most, 0);                // below zero is zero: relu
  multiply(&head[fed], head[fed].bias, to, most / FINEST);
}

// Make again what is not in the state of a step that is under way, as a call begins.
static void take_up(const float *state) {
  if (state[2 * L * H]) look(state, 0);
}

static void step(float *state, int symbol, int label, float *to) {
  float *frame = state + 2 * L * H;
  int fed = *frame;
  frame[fed ? fed : P] = symbol + 1;
  if (!fed) {
    advance_layers(state, state + L * H, frame + 1, label);
    look(state, to);
  }
  if (P > 1) write(frame + 1, fed, to);
  *frame = (fed + 1) % P;
}

static double exponential(double x) {                 // of x <= 0, to 1e-15 of the result
  double n = __builtin_rint(x * 1.4426950408889634), y = 1.0 / 6227020800;
  double r = x - n * 0.6931471803691238 - n * 1.9082149292705877e-10;
  const double factorials[] = {479001600, 39916800, 3628800, 362880, 40320, 5040,
                               720, 120, 24, 6, 2, 1, 1};
  EACH(i, 13) y = y * r + 1 / factorials[i];
  union { double value; u64 bits; } power = {n + 6755399441055744.0};   // n in the low bits
  power.bits = (power.bits + 1023) << 52;
  return x < -700 ? 0 : y * power.value;
}

static void sort(void) {                              // symbols, likeliest first, by Shell's method
  EACH(i, V) order[i] = i;
  for (int gap = V / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (int i = gap; i < V; i++) {
      int own = order[i], at = i;
      for (; at >= gap; at -= gap) {
        int other = order[at - gap];
        if (scaled[other] > scaled[own] || (scaled[other] == scaled[own] && other < own)) break;
        order[at] = other;
      }
      order[at] = own;
    }
}

// By the rule of seqkit/generation/sampler.py.
static int draw(double uniform, float *probability) {
  int drawn = 0, cut = top_k > 0 && top_k < V;
  const double most = largest(logits, V, -__builtin_inff());
  while (logits[drawn] < most) drawn++;
  double total = 0, running = 0;
  if (temperature > 0) {
    EACH(v, V) scaled[v] = (logits[v] - most) / temperature;
    if (cut || top_p < 1) sort();
    const double least = cut ? scaled[order[top_k - 1]] : -__builtin_inf();
    EACH(v, V) shares[v] = exponential(scaled[v]);
    EACH(v, V) total += shares[v] = scaled[v] < least ? 0 : shares[v];
    if (top_p < 1) {
      double whole = total, kept = 0;
      EACH(i, V) {
        double *own = &shares[order[i]], before = running;
        running += *own;
        if (before / whole >= top_p) *own = 0;
      }
      EACH(v, V) kept += shares[v];
      total = kept; running = 0;
    }
    for (drawn = 0; drawn < V - 1; drawn++)
      if ((running += shares[drawn]) > uniform * total) break;
  }
  if (wants_probabilities) {
    double all = 0;
    EACH(v, V) all += exponential(logits[v] - most);
    *probability = exponential(logits[drawn] - most) / all;
  }
  return drawn;
}

// Feed the first n symbols of the buffer, as what has this label.
EXPORT void feed(float *state, int n, int label) {
  take_up(state);
  EACH(i, n) step(state, io.symbols[i], label, logits + i * head[0].rows);
}

// Feed a symbol, draw one, feed that, and so on, n times.
EXPORT void run(float *state, int symbol, int n, int label) {
  take_up(state);
  EACH(i, n) {
    step(state, symbol, label, logits);
    io.symbols[i] = symbol = draw(io.draws[i], &io.probabilities[i]);
  }
}
