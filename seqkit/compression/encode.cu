// Encodes a block: rans.encode on a GPU. One warp does it all, from the last row to the first; thread
// w is way w. A symbol hands over one word at most.
//
// Constants: WAYS (up to 32), BITS of a probability.

#define ALL 0xffffffffu

struct Arguments {
  const long long *lowers, *widths;  // (rows, WAYS)
  long long rows;
  unsigned long long *states;        // (WAYS,)
  unsigned int *words;               // (rows * WAYS,), filled from the end on
  long long *first;                  // of the words in there
};

extern "C" __global__ void encode_lanes(Arguments a) {
  const int way = threadIdx.x;
  const bool used = way < WAYS;
  long long first = a.rows * WAYS;
  unsigned long long state = 1ull << 31;
  for (long long row = a.rows - 1; row >= 0; --row) {
    const unsigned long long lower = used ? a.lowers[row * WAYS + way] : 0;
    const unsigned long long width = used ? a.widths[row * WAYS + way] : 1;
    const bool full = used && state >= width << (63 - BITS);
    const unsigned int givers = __ballot_sync(ALL, full);
    first -= __popc(givers);
    if (full) {
      a.words[first + __popc(givers & ((1u << way) - 1))] = (unsigned int)state;
      state >>= 32;
    }
    state = (state / width << BITS) + lower + state % width;
  }
  if (used) a.states[way] = state;
  if (way == 0) *a.first = first;
}
