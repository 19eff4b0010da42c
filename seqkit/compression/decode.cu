// Decodes one step of all lanes: rans.Decoder.take on a GPU. One warp does it all; thread w is way
// w, which takes lanes w, w + WAYS, … in turn.
//
// Constants: V symbols, LANES, WAYS (up to 32, a divisor of LANES), BITS of a probability.

#define ALL 0xffffffffu

struct Arguments {
  const long long *bounds;         // (LANES, V + 1)
  unsigned long long *states;      // (WAYS,)
  const unsigned int *const *words;  // where the words are; this and the next two change by block
  const long long *count;          // of them
  long long *next;                 // of them to be taken
  long long *symbols;              // (LANES,), decoded
};

extern "C" __global__ void decode_lanes(Arguments a) {
  const int way = threadIdx.x;
  const bool used = way < WAYS;
  const unsigned int *words = *a.words;
  const long long count = *a.count;
  long long next = *a.next;
  unsigned long long state = used ? a.states[way] : 0;
  for (int first = 0; first < LANES; first += WAYS) {
    bool small = false;
    if (used) {
      const long long *row = a.bounds + (long long)(first + way) * (V + 1);
      const long long slot = (long long)(state & ((1ull << BITS) - 1));
      int low = 0, high = V;  // row[low] <= slot < row[high]
      while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (row[middle] <= slot) low = middle;
        else high = middle;
      }
      state = (state >> BITS) * (unsigned long long)(row[low + 1] - row[low]) +
              (unsigned long long)(slot - row[low]);
      a.symbols[first + way] = low;
      small = state < (1ull << 31);
    }
    const unsigned int takers = __ballot_sync(ALL, small);
    const long long place = next + __popc(takers & ((1u << way) - 1));
    // A stream that ends too early decodes to nonsense, which the checksum tells.
    if (small && place < count) state = (state << 32) | words[place];
    next += __popc(takers);
  }
  if (used) a.states[way] = state;
  __syncwarp();
  if (way == 0) *a.next = next;
}
