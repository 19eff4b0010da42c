// The masks of `dropout_masks.dropout_masks` in one launch: that explains the hash.

struct Arguments {
  void *masks;      // (layers, count), written
  const int *keys;  // (layers,)
  int layers;
  int begin;        // the element of a taller mask that is the first of this one
  int count, threshold;
  float factor;     // of what is kept
};

extern "C" __global__ void __launch_bounds__(256) dropout_masks(const Arguments a) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x, below = a.begin / 2;
  const unsigned pairs = (a.begin + a.count + 1) / 2 - below;
  const unsigned layer = i / pairs, counter = below + i % pairs;
  if (layer >= a.layers) return;
  unsigned hash = (counter ^ counter >> 16) * 0x7feb352du ^ (unsigned)a.keys[layer];
  hash = (hash ^ hash >> 15) * 0x846ca68bu;
  hash ^= hash >> 16;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int element = 2 * counter + half - a.begin;
    const short bits = (short)(hash >> 16 * half);
    if (element >= 0 && element < a.count)
      store_number(a.masks, (long long)layer * a.count + element,
                   bits >= a.threshold ? a.factor : 0.0f);
  }
}
