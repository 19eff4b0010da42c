// From the gradient of all parameters to new parameters, and to all that is made from them, in two
// launches: `measure_gradient` finds the norm and decides how the update goes, `update_parameters`
// makes it.
//
// DTYPE is that of the weights that run.

#define THREADS 256
#define EACH 4        // parameters of a thread
#define CHUNK (THREADS * EACH)

// One parameter tensor. Index i of a copy is row i / columns, column i % columns.
struct Piece {
  float *parameter;
  float *mean, *square;   // running means of the gradient and of its square
  float *steps;           // how many updates were made
  float *average;         // or null
  void *copy;             // the weights that run, or null where they are the parameters themselves
  long long gradient;     // where in the flat gradient
  int count, columns, stride;  // stride: of a row of the copy
  float decay;
};

// How an update goes. `skips`: the parameters do not change.
struct Decision {
  bool skips;
  float divisor, rate, step_size, second_root;
};

struct Arguments {
  const Piece *pieces;
  const int2 *chunks;     // piece and chunk of each block of `update_parameters`
  const float *gradient;  // flat
  double *partials;       // of each block of `measure_gradient`
  unsigned *arrived;      // 0 before and after
  Decision *decision;
  const float *rate;      // the learning rate
  const float *share;     // of the new parameters in the average; or null
  float *norm;            // written: the gradient's, without the scale
  float *scale;           // of the loss
  int *growth;            // steps since the scale changed; or null, if it never does
  int *left_out;          // how many updates were left out: the gradient exploded or overflowed
  long long length;       // of the flat gradient
  int pieces_count;
  float beta1, beta2, rest1, rest2, log1, log2;  // of AdamW's decays: 1 - decay, its logarithm
  float clip_norm;
  float exploded;         // a longer gradient, without the scale, makes no update
  int patience;           // steps without an overflow after which the scale is doubled
};

// The sum over the block's threads, always in the same order; all of them get it.
__device__ __forceinline__ double block_sum(double value, double *scratch) {
  scratch[threadIdx.x] = value;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
  }
  __syncthreads();
  const double sum = scratch[0];
  __syncthreads();
  return sum;
}

__device__ Decision decide(const Arguments &a, float norm) {
  const float scale = *a.scale;
  const int growth = a.growth ? *a.growth + 1 : 0;
  Decision d = {};
  const bool overflow = a.growth && !isfinite(norm);
  d.rate = *a.rate;
  const float steps = *a.pieces[0].steps + 1.0f;
  d.step_size = d.rate / -expm1f(steps * a.log1);
  d.second_root = sqrtf(-expm1f(steps * a.log2));
  const float over = a.clip_norm > 0 ? norm / a.clip_norm : 0;
  const bool exploded = norm > a.exploded * scale;  // infinite too; NaN is not
  d.skips = overflow || exploded;
  if (d.skips) *a.left_out += 1;
  d.divisor = over <= scale ? scale : over;  // without a scale, NaN goes on to the parameters
  *a.norm = norm / scale;
  if (!a.growth) return d;
  if (overflow) {
    *a.scale = fmaxf(scale * 0.5f, 1.0f);
    *a.growth = 0;
  } else {
    const bool grows = growth == a.patience;
    if (grows && isfinite(scale * 2.0f)) *a.scale = scale * 2.0f;
    *a.growth = grows ? 0 : growth;
  }
  return d;
}

extern "C" __global__ void __launch_bounds__(THREADS) measure_gradient(const Arguments a) {
  __shared__ double scratch[THREADS];
  __shared__ bool last, skips;
  float squares = 0.0f;
#pragma unroll 4
  for (long long i = blockIdx.x * THREADS + threadIdx.x; i < a.length / 4;
       i += (long long)gridDim.x * THREADS) {
    const float4 four = ((const float4 *)a.gradient)[i];
    const float values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int k = 0; k < 4; k++) squares += values[k] * values[k];
  }
  const double sum = block_sum(squares, scratch);
  if (threadIdx.x == 0) {
    a.partials[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(a.arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  double part = 0.0;
  for (int i = threadIdx.x; i < gridDim.x; i += THREADS)
    part += *(volatile double *)(a.partials + i);
  const double total = block_sum(part, scratch);
  if (threadIdx.x == 0) {
    *a.arrived = 0;
    const Decision d = decide(a, (float)sqrt(total));
    *a.decision = d;
    skips = d.skips;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < a.pieces_count && !skips; i += THREADS) *a.pieces[i].steps += 1.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS) update_parameters(const Arguments a) {
  const int2 chunk = a.chunks[blockIdx.x];
  const Piece p = a.pieces[chunk.x];
  const Decision d = *a.decision;
  const float share = a.share ? *a.share : 0.0f;
  const int begin = chunk.y * CHUNK + threadIdx.x;
  float values[EACH], gradients[EACH], means[EACH], squares[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {  // all loads are under way before the first store
    const int i = begin + k * THREADS;
    if (i >= p.count) continue;
    values[k] = p.parameter[i];
    gradients[k] = a.gradient[p.gradient + i];
    means[k] = p.mean[i];
    squares[k] = p.square[i];
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int i = begin + k * THREADS;
    if (i >= p.count) continue;
    float value = values[k];
    if (!d.skips) {
      const float gradient = gradients[k] / d.divisor;
      value -= d.rate * p.decay * value;
      const float mean = a.beta1 * means[k] + a.rest1 * gradient;
      const float square = a.beta2 * squares[k] + a.rest2 * gradient * gradient;
      p.mean[i] = mean;
      p.square[i] = square;
      value -= d.step_size * mean / (sqrtf(square) / d.second_root + 1e-8f);
      p.parameter[i] = value;
      const bool dense = p.columns == p.stride;  // a division takes longer than the rest
      const long long at = dense ? i : i / p.columns * (long long)p.stride + i % p.columns;
      if (p.copy) store_number(p.copy, at, value);
    }
    if (p.average) p.average[i] += share * (value - p.average[i]);
  }
}
