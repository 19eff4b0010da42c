"use strict";
// Makes symbols, in a worker: of a text, or of sound and of the codes that a second network writes.
const BLOCK = 256;             // symbols between two looks at what the page wants
const FED = 128, ROOM = 1024;   // symbols of a prompt that step.c takes at a time; its buffers'
const STREAM = 1n << 33n, BEFORE = 100;     // of the writer: see generation/slow_tier.py

const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

class Network {
  constructor(program, { arranged, weights }) {
    const step = this.step = new WebAssembly.Instance(program, {}).exports, { memory } = step;
    const place = step.arrange(...arranged), content = bytes(weights);
    new Uint8Array(memory.buffer, place, content.length).set(content);
    step.fill();
    const io = step.buffers(), size = step.state_size();
    this.held = step.reserve(size);
    this.state = new Uint8Array(memory.buffer, this.held, size);
    this.draws = new Float64Array(memory.buffer, io, ROOM);
    this.codes = new Int32Array(memory.buffer, io + 8 * ROOM, ROOM);
    this.labels = new Int32Array(memory.buffer, io + 12 * ROOM, ROOM);
    this.symbols = new Int32Array(memory.buffer, io + 16 * ROOM, ROOM);
    this.probabilities = new Float32Array(memory.buffer, io + 20 * ROOM, ROOM);
  }
  begin(seed, symbol) {
    this.state.fill(0);
    Object.assign(this, { seed, last: symbol, position: 0 });
  }
  condition(codes, label) {    // of the next symbols
    this.codes.set(codes);
    this.labels.fill(label);
  }
  feed(symbols) {
    this.symbols.set([this.last, ...symbols.slice(0, -1)]);
    this.step.feed(this.held, symbols.length);
    this.last = symbols.at(-1) ?? this.last;
  }
  draw(count) {                // as the command's first stream does
    this.step.uniforms(this.seed, 0n, BigInt(this.position), count);
    this.step.run(this.held, this.last, count);
    this.position += count;
    this.last = this.symbols[count - 1];
    return this.symbols.slice(0, count);
  }
}

let main, writer, model, settings, code, lasting, prompt = [], run = 0, granted = 0, left = 0;
const channel = new MessageChannel();
let going = false;             // a block is to be made, after the orders that came meanwhile
channel.port1.onmessage = () => { going = false; make(); };
const goOn = () => { if (!going) channel.port2.postMessage(going = true); };

function begin() {
  const seed = BigInt(settings.seed), { codes } = model;
  main.begin(seed, model.start);
  if (!writer) return;
  lasting = 0;
  writer.step.uniforms(seed, STREAM, 0n, 1);
  const end = Math.floor(writer.draws[0] * codes.length) + BEFORE * codes.length;
  const before = model.labels ? [0]
    : Array.from({ length: BEFORE }, (_, i) => codes[(end - BEFORE + i) % codes.length]);
  writer.begin((seed ^ STREAM) & ((1n << 63n) - 1n), before.shift());
  writer.condition([], settings.label);
  writer.feed(before);
}

function condition(count) {    // the next symbols; the writer draws a code for each `hop` of them
  const codes = Int32Array.from({ length: count }, () => {
    if (writer && !settings.code && !lasting--) {
      writer.condition([], settings.label);
      [code] = writer.draw(1);
      lasting = model.hop - 1;
    }
    return settings.code || code || 0;
  });
  main.condition(codes, settings.label);
}

function make() {              // a block
  const count = Math.min(BLOCK, granted, left), part = prompt.splice(0, FED);
  if (!run || (!part.length && left && !count)) return;
  if (part.length) {
    condition(part.length);
    main.feed(part);
  } else if (left) {
    condition(count);
    const symbols = main.draw(count);
    [granted, left] = [granted - count, left - count];
    const nats = main.probabilities.slice(0, count).map((p) => -Math.log(p));
    postMessage({ id: run, symbols, nats });
  } else {
    postMessage({ id: run, ended: true });
    run = 0;
  }
  goOn();
}

const orders = {
  open(given) {
    const programs = given.programs.map(bytes);
    const own = programs.find((program) => WebAssembly.validate(program));
    const program = new WebAssembly.Module(own);
    [model, main] = [given, new Network(program, given.main)];
    if (given.writer) writer = new Network(program, given.writer);
    writer?.step.rule(1, 0, 1, 0);
    postMessage({ opened: own === programs[0] ? "relaxed" : "plain" });
  },
  start(id, symbols, length, given) {
    [run, prompt, granted, left] = [id, symbols, 0, length];
    orders.set(given, true);
  },
  set(given, anew) {
    settings = given;
    main.step.rule(given.temperature, given.top_k, given.top_p, model.kind === "audio" ? 0 : 1);
    if (anew) begin();
  },
  more(count) { granted += count; },
  stop() { run = 0; },
};
onmessage = ({ data: { order, given } }) => { orders[order](...given); goOn(); };
