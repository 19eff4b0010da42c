// One warp draws one symbol by the rule of sampling.drawn: temperature, then top-k, which
// keeps ties, then top-p. Lane i holds the logits of symbols i * CHUNK to i * CHUNK + CHUNK - 1.
//
// Constants: V symbols.

#define ALL 0xffffffffu
#define CHUNK ((V + 31) / 32)
#define LOWEST (-2147483647 - 1)

struct Rule {
  float inverse_temperature;
  float top_p;  // 1: all of them
  int top_k;    // V: all of them
  int greedy;   // temperature 0
};

__device__ __forceinline__ float negative_infinity() { return __int_as_float(0xff800000); }

// Maps floats to integers of the same order, which a warp reduces in one instruction.
__device__ __forceinline__ int to_key(float x) {
  int bits = __float_as_int(x);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(ALL, x, offset);
  return x;
}

// Whether all keys from low to high are equal; both bounds are then set to that key.
__device__ __forceinline__ bool settled(const int (&keys)[CHUNK], int &low, int &high) {
  int least = 2147483647, most = LOWEST;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) {
    bool inside = keys[i] >= low && keys[i] <= high;
    least = inside ? min(least, keys[i]) : least;
    most = inside ? max(most, keys[i]) : most;
  }
  least = __reduce_min_sync(ALL, least);
  most = __reduce_max_sync(ALL, most);
  if (least == most) low = high = least;
  return least == most;
}

__device__ __forceinline__ int kth_key(const int (&keys)[CHUNK], int k, int highest) {
  // The largest key that at least k keys reach, by bisection.
  int low = LOWEST, high = highest;
  while (low < high && !settled(keys, low, high)) {
    int middle = high - (int)(((unsigned)high - (unsigned)low) >> 1);
    int reached = 0;
#pragma unroll
    for (int i = 0; i < CHUNK; i++) reached += keys[i] >= middle;
    if ((int)__reduce_add_sync(ALL, reached) >= k) low = middle;
    else high = middle - 1;
  }
  return low;
}

__device__ __forceinline__ void keep_top_p(const int (&keys)[CHUNK], float (&shares)[CHUNK],
                                           float top_p, int highest, int lane) {
  // The smallest key such that the keys above it have less than top_p of the probability, by
  // bisection.
  float mass = 0;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) mass += shares[i];
  float wanted = top_p * warp_sum(mass);
  int low = LOWEST, high = highest;
  float above = 0;
  while (low < high && !settled(keys, low, high)) {
    int middle = low + (int)(((unsigned)high - (unsigned)low) >> 1);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHUNK; i++) sum += keys[i] > middle ? shares[i] : 0.0f;
    sum = warp_sum(sum);
    if (sum < wanted) high = middle, above = sum;
    else low = middle + 1;
  }
  // Of the symbols tied at that key, the first ones are kept, as many as top_p needs.
  int ties = 0;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) ties += keys[i] == low;
  int before = ties;
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    int other = __shfl_up_sync(ALL, before, offset);
    before += lane >= offset ? other : 0;
  }
  before -= ties;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) {
    bool tied = keys[i] == low;
    bool kept = keys[i] > low || (tied && (before == 0 || above + before * shares[i] < wanted));
    before += tied;
    if (!kept) shares[i] = 0;
  }
}

// The first symbol whose cumulative probability exceeds `uniform`; every lane returns it.
__device__ __forceinline__ int draw(const float (&logits)[CHUNK], double uniform, const Rule &rule,
                                    int lane) {
  int keys[CHUNK], highest = LOWEST;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) highest = max(highest, keys[i] = to_key(logits[i]));
  highest = __reduce_max_sync(ALL, highest);
  if (rule.greedy) {
    int first = V;
#pragma unroll
    for (int i = CHUNK - 1; i >= 0; i--) first = keys[i] == highest ? lane * CHUNK + i : first;
    return min(__reduce_min_sync(ALL, first), V - 1);
  }
  float peak = __int_as_float(highest ^ ((highest >> 31) & 0x7fffffff));
  float shares[CHUNK];
#pragma unroll
  for (int i = 0; i < CHUNK; i++) shares[i] = expf((logits[i] - peak) * rule.inverse_temperature);
  if (rule.top_k < V) {
    int lowest = kth_key(keys, rule.top_k, highest);
#pragma unroll
    for (int i = 0; i < CHUNK; i++) shares[i] = keys[i] < lowest ? 0.0f : shares[i];
  }
  if (rule.top_p < 1) keep_top_p(keys, shares, rule.top_p, highest, lane);

  float sum = 0;
  int last = -1;  // the last of the lane's symbols that can be drawn
#pragma unroll
  for (int i = 0; i < CHUNK; i++) {
    sum += shares[i];
    last = shares[i] > 0 ? i : last;
  }
  float upto = sum;
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    float other = __shfl_up_sync(ALL, upto, offset);
    upto += lane >= offset ? other : 0.0f;
  }
  float before = __shfl_up_sync(ALL, upto, 1);
  float target = (float)(uniform * (double)__shfl_sync(ALL, upto, 31));
  float running = lane ? before : 0.0f;
  int symbol = lane * CHUNK + last;  // if rounding leaves the target out of reach
  bool found = false;
#pragma unroll
  for (int i = 0; i < CHUNK; i++) {
    running += shares[i];
    bool here = !found && running > target && shares[i] > 0;
    symbol = here ? lane * CHUNK + i : symbol;
    found |= here;
  }
  unsigned reached = __ballot_sync(ALL, last >= 0 && upto > target);
  unsigned possible = __ballot_sync(ALL, last >= 0);
  int owner = reached ? __ffs(reached) - 1 : 31 - __clz(possible);
  // Without any number among the logits there is no such symbol: then it is one of the V all the same.
  return min(max(__shfl_sync(ALL, symbol, owner), 0), V - 1);
}

struct DrawArguments {
  const float *logits;  // [S][V]
  const double *draws;  // [S]
  long long *symbols;   // [S], written
  Rule rule;
};

// The draw as a kernel of its own: one block of one warp for each stream.
extern "C" __global__ void __launch_bounds__(32) draw_streams(const DrawArguments a) {
  int lane = threadIdx.x;
  float logits[CHUNK];
#pragma unroll
  for (int i = 0; i < CHUNK; i++) {
    int at = lane * CHUNK + i;
    logits[i] = at < V ? a.logits[(size_t)blockIdx.x * V + at] : negative_infinity();
  }
  int symbol = draw(logits, a.draws[blockIdx.x], a.rule, lane);
  if (lane == 0) a.symbols[blockIdx.x] = symbol;
}
