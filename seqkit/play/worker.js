"use strict";
// Makes symbols, in a worker.
const BLOCK = 256, FRAMES = 8; // symbols between two looks at what the page wants; or frames,
                               // as many as spectral.js makes at once
const FED = 128, ROOM = 1024;   // symbols of a prompt that step.c takes at a time; its buffers'

class Network {
  constructor(program, arranged, weights) {
    const step = this.step = new WebAssembly.Instance(program, {}).exports, { memory } = step;
    const place = step.arrange(...arranged);
    new Uint8Array(memory.buffer, place, weights.byteLength).set(new Uint8Array(weights));
    step.fill();
    const io = step.buffers(), size = step.state_size();
    this.held = step.reserve(size);
    this.state = new Uint8Array(memory.buffer, this.held, size);
    this.draws = new Float64Array(memory.buffer, io, ROOM);
    this.symbols = new Int32Array(memory.buffer, io + 8 * ROOM, ROOM);
    this.probabilities = new Float32Array(memory.buffer, io + 12 * ROOM, ROOM);
  }
  begin(seed, symbol) {
    this.state.fill(0);
    Object.assign(this, { seed, last: symbol, position: 0 });
  }
  feed(symbols, label) {
    this.symbols.set([this.last, ...symbols.slice(0, -1)]);
    this.step.feed(this.held, symbols.length, label);
    this.last = symbols.at(-1) ?? this.last;
  }
  draw(count, label) {         // as the command's first stream does
    this.step.uniforms(this.seed, 0n, BigInt(this.position), count);
    this.step.run(this.held, this.last, count, label);
    this.position += count;
    this.last = this.symbols[count - 1];
    return this.symbols.slice(0, count);
  }
}

let network, model, label, prompt = [], run = 0, granted = 0, left = 0;
const channel = new MessageChannel();
let going = false;             // a block is to be made, after the orders that came meanwhile
channel.port1.onmessage = () => { going = false; make(); };
const goOn = () => { if (!going) channel.port2.postMessage(going = true); };

function make() {              // a block
  const block = model?.spectral ? FRAMES * model.phases : BLOCK;
  const count = Math.min(block, granted, left), part = prompt.splice(0, FED);
  if (!run || (!part.length && left && !count)) return;
  if (part.length) network.feed(part, label);
  else if (left) {
    let symbols = network.draw(count, label);
    [granted, left] = [granted - count, left - count];
    const end = model.ends ? symbols.indexOf(model.size) : -1;
    if (end >= 0) [symbols, left] = [symbols.slice(0, end), 0];
    const nats = network.probabilities.slice(0, symbols.length).map((p) => -Math.log(p));
    postMessage({ id: run, symbols, nats });
  } else {
    postMessage({ id: run, ended: true });
    run = 0;
  }
  goOn();
}

const orders = {
  open(given) {
    const { contents, arranged } = model = given;
    const kind = ["relaxed", "plain"].find((name) => WebAssembly.validate(contents[name]));
    const program = new WebAssembly.Module(contents[kind]);
    network = new Network(program, arranged, contents.weights);
    postMessage({ opened: kind });
  },
  start(id, symbols, length, given) {
    [prompt, left] = [symbols, length];
    orders.set(given, id);
  },
  set(given, anew) {           // as a run, from the beginning on
    const { temperature, top_k, top_p, seed } = given;
    network.step.rule(temperature, top_k, top_p, model.kind === "audio" ? 0 : 1);
    label = given.label;
    if (!anew) return;
    [run, granted] = [anew, 0];
    network.begin(BigInt(seed), model.start);
  },
  more(count) { granted += count; },
  stop() { run = 0; },
};
onmessage = ({ data: { order, given } }) => { orders[order](...given); goOn(); };
