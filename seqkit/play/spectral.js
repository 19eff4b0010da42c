"use strict";
// Sound of codes, in a worker. Each class is told where data/codecs/spectral/ has its name.
// Targets are rounded to 32 bits where theirs are: they are the same to the bit.
const OVERLAP = 4, BLOCK = 8, LOOK = 8, ROUNDS = 4, MOMENTUM = 0.99, TINY = 1e-20;
const RANGE = 90, SILENT = 8, BEND = 300, AROUND = 4, STEADY = 2, NEPERS = Math.fround(Math.LN10 / 20);
const KNEE = 0.875, TURN = 0.25 / 0.25645, TILT = -0.25645 / 0.5;
const { fround, PI } = Math;
const zeros = (length) => new Float64Array(length);
const spectrum = (bins) => ({ re: zeros(bins), im: zeros(bins) });

class Transform {                      // of two frames at once, as one of complex numbers
  constructor(size) {
    const cosines = Float64Array.from({ length: size }, (_, i) => Math.cos(2 * PI * i / size));
    const window = Float32Array.from(cosines, (cosine) => 0.5 - 0.5 * cosine);
    const work = Array.from({ length: 4 }, () => new Float64Array(size));
    Object.assign(this, { size, hop: size / OVERLAP, bins: size / 2 + 1, cosines, window, work });
  }
  turned(re, im, other_re, other_im) { // Stockham's, of a power of 2 in steps of 4; where it ends
    const { size, cosines } = this;
    let n = size, s = 1;
    for (; n >= 4; n /= 4, s *= 4) {
      const m = n / 4 * s;
      for (let p = 0; p < m; p += s) {
        const c1 = cosines[p], s1 = cosines[p + 3 * size / 4 & size - 1];
        const c2 = cosines[2 * p], s2 = cosines[2 * p + 3 * size / 4 & size - 1];
        const c3 = cosines[3 * p], s3 = cosines[3 * p + 3 * size / 4 & size - 1];
        for (let i = p, to = 4 * p; i < p + s; i++, to++) {
          const a = re[i] + re[i + 2 * m], b = re[i] - re[i + 2 * m];
          const c = re[i + m] + re[i + 3 * m], d = re[i + m] - re[i + 3 * m];
          const e = im[i] + im[i + 2 * m], f = im[i] - im[i + 2 * m];
          const g = im[i + m] + im[i + 3 * m], h = im[i + m] - im[i + 3 * m];
          const x1 = b + h, y1 = f - d, x2 = a - c, y2 = e - g, x3 = b - h, y3 = f + d;
          other_re[to] = a + c;
          other_im[to] = e + g;
          other_re[to + s] = x1 * c1 + y1 * s1;
          other_im[to + s] = y1 * c1 - x1 * s1;
          other_re[to + 2 * s] = x2 * c2 + y2 * s2;
          other_im[to + 2 * s] = y2 * c2 - x2 * s2;
          other_re[to + 3 * s] = x3 * c3 + y3 * s3;
          other_im[to + 3 * s] = y3 * c3 - x3 * s3;
        }
      }
      [re, im, other_re, other_im] = [other_re, other_im, re, im];
    }
    if (n === 1) return [re, im];
    for (let i = 0; i < s; i++) {
      other_re[i] = re[i] + re[i + s];
      other_im[i] = im[i] + im[i + s];
      other_re[i + s] = re[i] - re[i + s];
      other_im[i + s] = im[i] - im[i + s];
    }
    return [other_re, other_im];
  }
  forward(from, at, own, other_from, other_at, other) {     // spectra of what begins there
    const { size, window, work } = this, [re, im] = work;
    for (let i = 0; i < size; i++) {
      re[i] = window[i] * from[at + i];
      im[i] = window[i] * other_from[other_at + i];
    }
    const [x, y] = this.turned(...work);
    for (let k = 0; k <= size / 2; k++) {
      const l = size - k & size - 1;
      own.re[k] = (x[k] + x[l]) / 2;
      own.im[k] = (y[k] - y[l]) / 2;
      other.re[k] = (y[k] + y[l]) / 2;
      other.im[k] = (x[l] - x[k]) / 2;
    }
  }
  backward(own, to, at, other, other_to, other_at) {        // added to what is there
    const { size, window, work } = this, [re, im, ...rest] = work, half = size / 2;
    for (let k = 1; k < half; k++) {
      re[k] = own.re[k] - other.im[k];
      im[k] = own.im[k] + other.re[k];
      re[size - k] = own.re[k] + other.im[k];
      im[size - k] = other.re[k] - own.im[k];
    }
    for (const k of [0, half]) [re[k], im[k]] = [own.re[k], other.re[k]];
    const [y, x] = this.turned(im, re, ...rest), factor = 1 / (1.5 * size);
    for (let i = 0; i < size; i++) {
      to[at + i] += window[i] * x[i] * factor;
      other_to[other_at + i] += window[i] * y[i] * factor;
    }
  }
}

class Books {
  constructor({ shape: [codes, size, rank], components, values, ...rest }) {
    const [mean, spans, sizes] = [rest.mean, rest.spans, rest.sizes].map((own) => new Float32Array(own));
    const columns = mean.length;
    this.components = Float64Array.from(new Int8Array(components), (value, i) =>
      value * spans[Math.floor(i / columns)] / 127);
    this.values = Float64Array.from(new Int8Array(values), (value, i) =>
      value * sizes[Math.floor(i / (size * rank)) * rank + i % rank] / 127);
    Object.assign(this, { codes, size, rank, columns, mean, known: [] });
  }
  added(place, code) {                 // by a code to a row
    const { rank, columns, components, values, mean } = this, number = place * this.size + code;
    if (this.known[number]) return this.known[number];
    const row = place ? new Float64Array(columns) : Float64Array.from(mean);
    let d = 0;
    for (; d + 3 < rank; d += 4) {     // four at once are twice as fast
      const [a, b, c, e] = values.subarray(number * rank + d, number * rank + d + 4);
      for (let k = 0, i = d * columns; k < columns; k++, i++)
        row[k] += a * components[i] + b * components[i + columns]
          + c * components[i + 2 * columns] + e * components[i + 3 * columns];
    }
    for (; d < rank; d++)
      for (let k = 0; k < columns; k++)
        row[k] += values[number * rank + d] * components[d * columns + k];
    return this.known[number] = Float32Array.from(row);
  }
  row(codes) {
    const row = this.added(0, codes[0]).slice();
    for (let place = 1; place < codes.length; place++) {
      const added = this.added(place, codes[place]);
      for (let k = 0; k < row.length; k++) row[k] += added[k];
    }
    return row;
  }
}

class Layout {
  constructor({ size, sample_rate: rate, channels, top, lift, edges, alike }) {
    const bins = size / 2 + 1, plain = Float64Array.from({ length: bins }, (_, k) =>
      (k * rate / size + BEND) ** -0.5);
    const mean = plain.reduce((sum, own) => sum + own * own, 0) / bins;
    const weights = Float32Array.from(plain, (own) => own / Math.sqrt(mean));
    const bands = new Uint8Array(bins);
    edges.forEach((edge, band) => bands.fill(band, edge));
    const lifted = (i) => lift[Math.floor(i / bins) * edges.length + bands[i % bins]] ?? 0;
    const gains = Float32Array.from({ length: channels * bins }, (_, i) =>
      Math.exp(fround(fround(lifted(i)) * NEPERS)));
    const floor = fround(10 ** ((top - RANGE) / 20));
    Object.assign(this, { bins, channels, weights, bands, alike, gains, floor });
  }
  levels(row) {                        // of all channels, in decibels
    const { bins, weights, channels } = this, levels = new Float32Array(channels * bins);
    for (let i = 0; i < levels.length && row; i++) levels[i] = row[i] / weights[i % bins];
    return levels;
  }
  target(levels, row) {                // the magnitudes of all channels, and what each one has
    const { bins, channels, bands, alike, gains, floor } = this, sizes = zeros(bins);
    const short = () => new Float32Array(bins);
    const parts = Array.from({ length: channels }, () => ({ re: short(), im: short() }));
    for (let c = 0; c < channels; c++)
      for (let k = 0; k < bins && row; k++) {
        const level = levels[c * bins + k];
        if (level > SILENT)
          parts[c].re[k] = fround(floor * fround(Math.exp(fround(level * NEPERS)))) * gains[c * bins + k];
      }
    const [, right] = parts;
    for (let k = 0; k < bins && row && right; k++) {
      const { re, im } = right, band = bands[k], size = re[k];
      const near = fround(Math.max(-1, Math.min(1, fround(row[2 * bins + band] / alike[band]))));
      re[k] = near * size;
      im[k] = fround(Math.sqrt(fround(1 - fround(near * near)))) * (1 - band % 2 * 2) * size;
    }
    for (const { re, im } of parts)
      for (let k = 0; k < bins; k++)
        sizes[k] += re[k] * re[k] + im[k] * im[k];
    for (let k = 0; k < bins; k++) sizes[k] = Math.sqrt(sizes[k]);
    return { sizes, parts };
  }
}

function steadied(frames, place) {     // the levels of one of some frames
  const own = frames[place].levels, moved = new Float32Array(own.length);
  const weights = new Float32Array(own.length).fill(1);
  const add = (one, other, sign) => {
    for (let i = 0; i < own.length; i++) {
      const step = fround(other[i] - one[i]), share = fround(step / STEADY);
      const apart = fround(1 + fround(share * share)), near = fround(1 / fround(apart * apart));
      moved[i] += sign * fround(step * near);
      weights[i] += near;
    }
  };
  for (let apart = 1; apart <= AROUND; apart++) {
    if (place + apart < frames.length) add(own, frames[place + apart].levels, 1);
    if (place >= apart) add(frames[place - apart].levels, own, -1);
  }
  return own.map((level, i) => level + fround(moved[i] / weights[i]));
}

class PhaseDecoder {
  constructor(size, channels) {
    const transform = new Transform(size), { hop, bins, window } = transform;
    const known = Float64Array.from({ length: 3 * hop }, (_, i) => {      // see transform.py
      let sum = 0, all = 0;
      for (let place = i % hop; place < size; place += hop) {
        all += window[place] ** 2;
        if (place >= i + hop) sum += window[place] ** 2;
      }
      return Math.max(sum / all, 0.1);
    });
    const tails = Array.from({ length: channels }, () => zeros(3 * hop));
    const seen = Array.from({ length: BLOCK + LOOK }, () => spectrum(bins));
    Object.assign(this, { transform, known, tails, tail: zeros(3 * hop), seen, frames: [] });
    Object.assign(this, { spare: spectrum(bins), nowhere: zeros(size), last: null });
    Object.assign(this, { faint: 1e-7 * size, skipped: (size - hop) / 2, due: 0 });
  }
  convert(targets, last) {             // parts of sound, one array a channel, as far as they are final
    this.frames.push(...targets);
    this.due += targets.length * this.transform.hop;
    const made = [];
    while (this.frames.length > BLOCK + LOOK) made.push(this.settled(BLOCK + LOOK, BLOCK));
    if (last) {
      const left = this.frames.length;
      if (left) made.push(this.settled(left, left));
      made.push(this.tails);
    }
    return made.map((part) => this.cut(part)).filter(([own]) => own.length);
  }
  cut(part) {
    const begin = Math.min(this.skipped, part[0].length);
    const length = Math.min(this.due, part[0].length - begin);
    this.skipped -= begin;
    this.due -= length;
    return part.map((own) => own.slice(begin, begin + length));
  }
  settled(count, final) {
    const { frames, transform, tails } = this, { hop, bins } = transform;
    this.begin(count);
    const shown = frames.slice(0, count), common = shown.map((frame) => frame.common);
    for (let round = 0; round < ROUNDS; round++) {
      const signal = this.joined(common, this.tail);
      if (count > final) this.known.forEach((own, i) => { signal[count * hop + i] /= own; });
      for (let i = 0; i < count; i += 2) {
        const other = i + 1 < count;
        transform.forward(signal, i * hop, this.seen[i], signal, (i + other) * hop,
          other ? this.seen[i + 1] : this.spare);
      }
      shown.forEach((frame, i) => this.nearer(frame, this.seen[i]));
    }
    const signal = this.joined(common.slice(0, final), this.tail);
    this.tail = signal.slice(final * hop);
    let made = [signal];
    if (tails.length > 1) {
      made = tails.map((tail) => this.begun(tail, final));
      for (let i = 0; i < final; i++) {
        const [left, right] = shown[i].parts.map((part) => this.phased(part, shown[i]));
        transform.backward(left, made[0], i * hop, right, made[1], i * hop);
      }
    }
    this.tails = made.map((own) => own.slice(final * hop));
    this.last = shown[final - 1];
    frames.splice(0, final);
    return made.map((own) => own.subarray(0, final * hop));
  }
  begun(tail, frames) {                // what is there before frames are added
    const signal = zeros((frames + 3) * this.transform.hop);
    signal.set(tail);
    return signal;
  }
  joined(spectra, tail) {
    const { hop } = this.transform, signal = this.begun(tail, spectra.length);
    for (let i = 0; i < spectra.length; i += 2) {
      const other = spectra[i + 1];
      this.transform.backward(spectra[i], signal, i * hop, other ?? this.spare,
        other ? signal : this.nowhere, other ? (i + 1) * hop : 0);
    }
    return signal;
  }
  nearer({ sizes, common: { re, im }, earlier }, seen) {      // a round of fast Griffin-Lim
    for (let k = 0; k < sizes.length; k++) {
      const x = seen.re[k] + MOMENTUM * (seen.re[k] - earlier.re[k]);
      const y = seen.im[k] + MOMENTUM * (seen.im[k] - earlier.im[k]);
      const factor = sizes[k] / Math.max(Math.sqrt(x * x + y * y), TINY);
      re[k] = x * factor;
      im[k] = y * factor;
      earlier.re[k] = seen.re[k];
      earlier.im[k] = seen.im[k];
    }
  }
  phased(part, { sizes, common }) {    // with the phase that is common to the channels
    const own = spectrum(sizes.length);
    for (let k = 0; k < sizes.length; k++) {
      const factor = 1 / Math.max(sizes[k], TINY);
      const x = common.re[k] * factor, y = common.im[k] * factor;
      own.re[k] = part.re[k] * x - part.im[k] * y;
      own.im[k] = part.re[k] * y + part.im[k] * x;
    }
    return own;
  }
  begin(count) {                       // first phases of those frames that have none
    const { frames } = this, known = frames.findIndex((frame) => !frame.common);
    if (known < 0 || known >= count) return;
    for (const frame of frames.slice(known && known - 1, count + 1))
      frame.logs ??= frame.sizes.map((size) => Math.log(Math.max(size, this.faint)));
    const before = frames[Math.max(known - 1, 0)];
    let phase = zeros(before.sizes.length), earlier = before.logs;
    if (known) {
      const { re, im } = before.common;
      const turned = (own, k) => (k % 2 ? -own[k] : own[k]) + 0;       // -0 is 0, see transform.py
      phase = phase.map((_, k) => Math.atan2(turned(im, k), turned(re, k)));
    }
    for (let i = known; i < count; i++) {
      const { sizes, logs } = frames[i], later = (frames[i + 1] ?? frames[i]).logs;
      phase = firstPhase(earlier, logs, later, phase);
      const own = spectrum(sizes.length);
      for (let k = 0; k < sizes.length; k++) {
        const size = k % 2 ? -sizes[k] : sizes[k];
        own.re[k] = size * Math.cos(phase[k]);
        own.im[k] = size * Math.sin(phase[k]);
      }
      frames[i].common = own;
      frames[i].earlier = { re: own.re.slice(), im: own.im.slice() };
      earlier = logs;
    }
  }
}

function firstPhase(earlier, logs, later, phase) {
  const bins = logs.length, top = bins - 1, along = zeros(bins), found = zeros(bins);
  const slope = (own, k) => k && k < top ? (own[k + 1] - own[k - 1]) / 2
    : k ? own[top] - own[top - 1] : own[1] - own[0];
  const turn = (own, k) => PI / 2 * k + TURN * slope(own, k);
  const tilt = (k) => Math.max(-PI, Math.min(PI, TILT * (later[k] - earlier[k])));
  for (let k = 1, was = tilt(0); k < bins; k++) {
    const now = tilt(k);
    along[k] = along[k - 1] + (now + was) / 2;
    was = now;
  }
  const roots = rootsOf(logs, earlier);
  for (let k = 0; k < bins; k++) {
    const root = roots[k], turned = (turn(logs, root) + turn(earlier, root)) / 2;
    found[k] = phase[root] + turned + along[k] - along[root];
  }
  return found;
}

function rootsOf(logs, earlier) {      // of each bin the one whose phase it follows
  const bins = logs.length, regions = [], roots = new Int32Array(bins);
  for (let k = 0, region; k < bins; k++) {
    const rises = k + 1 < bins && logs[k + 1] > logs[k], rose = k > 0 && logs[k] > logs[k - 1];
    if (!k || (rises && !rose)) regions.push(region = { first: k, peak: k, was: -Infinity });
    if ((!k || rose) && !rises) region.peak = k;
    region.was = Math.max(region.was, earlier[k]);
  }
  for (let i = 0; i < regions.length;) {             // regions that are one have one root
    const begin = i;
    let best = regions[i];
    while (++i < regions.length &&
        logs[regions[i].first] > Math.min(regions[i].was, regions[i - 1].was) + 1)
      if (regions[i].was >= best.was) best = regions[i];
    roots.fill(best.peak, regions[begin].first, regions[i]?.first ?? bins);
  }
  return roots;
}

class Reader {                         // of symbols that come in pieces
  constructor(codec) {
    const { size, channels } = codec;
    Object.assign(this, { books: new Books(codec), layout: new Layout(codec), size, channels });
    this.begin();
  }
  begin() {
    Object.assign(this, { kept: [], frames: [], begun: 0 });
    this.decoder = new PhaseDecoder(this.size, this.channels);
  }
  read(symbols, last) {                // as 16 bits, the channels side by side
    const known = [...this.kept, ...symbols], { frames, books: { codes } } = this, targets = [];
    for (; known.length >= codes;) {
      const own = known.splice(0, codes), row = own[0] ? this.books.row(own) : null;
      frames.push({ row, levels: this.layout.levels(row) });
    }
    this.kept = known;
    const end = last ? frames.length : Math.max(frames.length - AROUND, this.begun);
    for (let i = this.begun; i < end; i++)
      targets.push(this.layout.target(steadied(frames, i), frames[i].row));
    frames.splice(0, Math.max(end - AROUND, 0));
    this.begun = Math.min(end, AROUND);
    return this.decoder.convert(targets, last).map(interleaved);
  }
}

function interleaved(channels) {
  const count = channels.length, pcm = new Int16Array(count * channels[0].length);
  channels.forEach((own, c) => own.forEach((value, i) => { pcm[count * i + c] = pcm16(limited(fround(value))); }));
  return pcm;
}

function limited(value) {              // see codec.py
  const room = 1 - KNEE, above = Math.abs(value) - KNEE;
  if (above <= 0) return value;
  return Math.sign(value) * fround(KNEE + above * room / (above + room));
}

function pcm16(value) {
  const sample = 32768 * value, up = Math.round(sample);
  const whole = up - sample === 0.5 && up % 2 ? up - 1 : up;    // a half goes to the even one
  return Math.max(-32768, Math.min(32767, whole));
}

let reader;
onmessage = ({ data: { codec, anew, id, symbols, last } }) => {
  if (codec) {
    reader = new Reader(codec);
    reader.read(Array(200).fill(1), true);     // so that it is compiled before it is needed
    postMessage({ warm: true });
  }
  if (anew) reader.begin();
  if (!symbols) return;
  for (const pcm of reader.read(symbols, last)) postMessage({ id, pcm });
  if (last) postMessage({ id, ended: true });
};
