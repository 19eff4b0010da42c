// Plays samples from a queue of two seconds, and tells how many it has played.
class Player extends AudioWorkletProcessor {
  constructor({ outputChannelCount: [channels] }) {
    super();
    this.channels = channels;
    this.queue = new Float32Array(2 * sampleRate * channels);
    this.begin = this.end = this.played = 0;
    this.clear();
    this.port.onmessage = ({ data }) => {
      if (data.clear) this.clear();
      if (data.ended) this.few = 0;
      for (const sample of data.samples ?? []) this.queue[this.end++ % this.queue.length] = sample;
      const dropped = Math.max(0, this.end - this.begin - this.queue.length);   // the page slept
      this.begin += dropped;
      this.played += dropped / this.channels;
    };
  }
  clear() {                             // what is dropped counts as played
    this.played += (this.end - this.begin) / this.channels;
    [this.begin, this.end, this.waits] = [0, 0, true];
    this.few = 0.1 * sampleRate;        // frames with which to begin
  }
  process(_, [output]) {
    if (this.played >= 128) {
      this.port.postMessage({ played: this.played });
      this.played = 0;
    }
    const waiting = (this.end - this.begin) / this.channels;
    if (this.waits && waiting < this.few) return true;
    const frames = Math.min(output[0].length, waiting);
    for (let i = 0; i < frames; i++)
      for (const channel of output) channel[i] = this.queue[this.begin++ % this.queue.length];
    this.waits = frames < output[0].length;
    if (this.waits) this.port.postMessage({ gap: true });
    this.played += frames;
    return true;
  }
}
registerProcessor("player", Player);
