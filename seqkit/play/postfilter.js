// The postfilter of one channel: see data/sound/postfilter.py.
class Postfilter {
  constructor({ slope, onset, reach, size }) {
    const hop = size / 4, kept = Array(3 * hop).fill(0), sums = Array(size).fill(0);
    const cosines = Float64Array.from(sums, (_, i) => Math.cos(2 * Math.PI * i / size));
    const window = cosines.map((cosine) => Math.sqrt(0.5 - 0.5 * cosine));
    Object.assign(this, { slope, onset, reach, size, hop, kept, sums, cosines, window, early: 3 * hop, due: 0 });
  }
  spectrum(re, im) {                   // Stockham's, by the factors of the size
    const { size, hop, cosines } = this;
    for (let m = 1, p; m < size; m *= p) {
      for (p = 2; size / m % p; p++);
      const r = size / m / p, a = new Float64Array(size), b = new Float64Array(size);
      for (let f = 0; f < m * p; f++)
        for (let k = 0; k < p; k++) {
          const turn = k * f * r % size, c = cosines[turn], s = cosines[(turn + 3 * hop) % size];
          for (let j = 0, from = k * r * m + f % m, to = f; j < r; j++, from += m, to += m * p) {
            a[to] += re[from] * c + im[from] * s;
            b[to] += im[from] * c - re[from] * s;
          }
        }
      [re, im] = [a, b];
    }
    return [re, im];
  }
  changed(frame) {                     // what is to be added up of a frame
    const { size, window, slope, onset, reach } = this, half = size / 2;
    const [re, im] = this.spectrum(window.map((own, i) => own * frame[i]), new Float64Array(size));
    const level = re.slice(0, half + 1).map((x, k) => 10 * Math.log10(x * x + im[k] * im[k] + 1e-9));
    let highest = Float64Array.from({ length: half + 2 * reach + 1 }, (_, k) =>
      level[Math.max(0, Math.min(half, k - reach))]);
    const further = (apart) => highest.map((own, k) =>
      Math.max(own, highest[Math.min(k + apart, half + 2 * reach)]));
    for (let apart = 1; apart <= reach; apart *= 2) highest = further(apart);
    highest = further(1);
    const gains = level.map((own, k) => {
      const down = slope * (highest[k] - own - onset);
      return 10 ** (Math.max(0, Math.min(24, down)) / -20) / size;
    });
    for (let k = 0; k < size; k++) {
      const gain = gains[Math.min(k, size - k)];
      re[k] *= gain;
      im[k] *= -gain;
    }
    return this.spectrum(re, im)[0].map((value, i) => value * window[i] / 2);
  }
  convert(samples, last) {             // what is settled by now, all after the last samples
    const { hop, size, kept, sums } = this, made = [];
    this.due += samples.length;
    kept.push(...samples);
    if (last) kept.push(...Array(3 * hop + (size - kept.length % hop) % hop).fill(0));
    for (; kept.length >= size; kept.splice(0, hop)) {
      this.changed(kept).forEach((value, i) => { sums[i] += value; });
      made.push(...sums.splice(0, hop));
      sums.push(...Array(hop).fill(0));
    }
    this.early -= made.splice(0, this.early).length;
    made.length = Math.min(made.length, this.due);
    this.due -= made.length;
    return made;
  }
}
