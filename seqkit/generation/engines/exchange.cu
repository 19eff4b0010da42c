// What both fused kernels share: their arguments, and how blocks exchange values through L2. A word
// carries the number of its step beside its value; readers poll the words that they need.
//
// Constants: V symbols, as for draw.cu; CONDITIONS, the rows of a network's table of them, or 0.

struct Arguments {
  const uint4 *weights;      // [BLOCKS][...]: of each block, as its kernel reads them
  const float *table;        // [BLOCKS][V][rows]: first layer's input product and bias; with
                             // LOOKBACK [2V]: then what each predicted symbol adds
  const float *condition_table;  // [BLOCKS][CONDITIONS][rows]: what each row adds to it; or null
  const float *bias;         // [BLOCKS][L][rows]
  const float *head_bias;    // [V], or rounded up to LOGITS
  const float *h_in, *c_in;  // [L][S][H]
  float *h_out, *c_out;
  const int *first;          // [S]: symbols to feed first
  const double *draws;       // [steps][S], or null if `forced` is given
  const int *forced;         // [steps][S]: symbols to feed, or null
  const int *conditions;     // [steps][S]: rows, of the symbol after the one that is fed; or null
  const float *levels;       // [V]: samples of the symbols, of a network that predicts; or null
  const float *prediction;   // [CONDITIONS, at least 1][LOOKBACK]: weights of the last samples
  const float *past;         // [S][LOOKBACK]: samples before the first step, the latest last
  int *symbols;              // [steps][S], written
  float *logits;             // [steps][S][V], written; or null
  unsigned *hidden_words;    // [2][L][...]: by parity of the step, and layer
  unsigned long long *logit_words;  // [2][...]
  int *error;
  int steps;
  unsigned base;             // number of the first step; older words carry older step numbers
  unsigned patience;         // polls after which a warp gives up
  Rule rule;
};

__device__ __forceinline__ uint4 load4(const unsigned *place) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(place) : "memory");
  return v;
}

__device__ __forceinline__ unsigned long long load8(const unsigned long long *place) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(place) : "memory");
  return v;
}

__device__ __forceinline__ void store4(unsigned *place, unsigned value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(place), "r"(value) : "memory");
}

__device__ __forceinline__ void store8(unsigned long long *place, unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(place), "l"(value) : "memory");
}

__device__ __forceinline__ unsigned long long word_of(unsigned number, unsigned value) {
  return (unsigned long long)number << 32 | value;
}

__device__ __forceinline__ unsigned half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

__device__ __forceinline__ float tangent(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// Gives up instead of hanging: the launch then ends soon, with its error flag set.
struct Watch {
  int *error;
  unsigned patience;
  bool dead;

  __device__ __forceinline__ bool over(unsigned tries) {
    if ((tries & 1023) == 1023) dead |= tries > patience || *(volatile int *)error;
    if (dead) *error = 1;
    return dead;
  }
};

// The logits of one stream after step `number`, CHUNK symbols a lane.
__device__ __forceinline__ void await_logits(float (&logits)[CHUNK],
                                             const unsigned long long *words, unsigned number,
                                             int lane, Watch &watch) {
  int count = min(max(V - lane * CHUNK, 0), CHUNK);
  words += lane * CHUNK;
#pragma unroll
  for (int begin = 0; begin < CHUNK; begin += 8) {
    for (unsigned tries = 0;; tries++) {
      bool wrong = false;
#pragma unroll
      for (int k = begin; k < begin + 8 && k < CHUNK; k++) {
        if (k < count) {
          unsigned long long word = load8(words + k);
          wrong |= (unsigned)(word >> 32) != number;
          logits[k] = __uint_as_float((unsigned)word);
        } else {
          logits[k] = negative_infinity();
        }
      }
      if (!__any_sync(ALL, wrong)) break;
      if (__any_sync(ALL, watch.over(tries))) break;
    }
  }
}
