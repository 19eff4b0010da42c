"use strict";
const $ = (id) => document.getElementById(id);
const make = (tag, given, ...parts) => {
  const element = Object.assign(document.createElement(tag), given);
  element.append(...parts);
  return element;
};
const model = JSON.parse($("model").textContent), sounds = model.kind === "audio";
const SHOWN = 100_000;     // characters that are kept on the page
const READ = model.read ?? SHOWN;      // characters of a prompt, or samples of a recording
const UNIT = model.symbol_rate ?? 1;                     // symbols of a second, or a character
const EACH = UNIT / (model.rate ?? 1);                   // symbols of a sample of all channels
const whole = (symbols) => Math.ceil(symbols / (model.phases ?? 1) - 1e-6) * (model.phases ?? 1);
const UNHEARD = model.spectral ? 29 * model.phases : 0;  // symbols that wait for those after them
const AHEAD = sounds ? whole(0.3 * UNIT) + UNHEARD : 1024;     // that are asked for at a time
const TOLD = sounds ? UNIT : 4096;     // symbols after which it is said how far it is
const KEPT = 10 * 60;      // seconds of sound that can be saved
const LOWEST = 60;         // hertz that are shown
const counted = (number) => number.toLocaleString("en");
let source, id = 0, runs = 0, made = 0, begun, ending = false;

function trouble(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

function broken({ message }) { trouble(`This page cannot run its model: ${message}`); }

async function unpacked(base64) {      // as page.py packs it
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function workerOf(name, hear) {
  const text = new Blob([$(name).textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(text));
  worker.onmessage = ({ data }) => hear(data);
  worker.onerror = broken;
  return worker;
}

// A source of symbols: it is started, asked for more, given other settings, and stopped. It calls
// told({id, symbols, nats}), and with {ended: true} after the last ones.
function workerSource() {
  const worker = workerOf("worker", (data) => (data.opened ? opened(data.opened) : told(data)));
  const send = (order, ...given) => worker.postMessage({ order, given });
  send("open", model);
  const orders = ["start", "set", "more", "stop"];
  return Object.fromEntries(orders.map((order) => [order, (...given) => send(order, ...given)]));
}

// ---- settings
function settings() {
  let label = 0, step = 1;
  for (const own of document.querySelectorAll("#labels select"))
    [label, step] = [label + step * own.selectedIndex, step * own.length];
  const [temperature, top_k, top_p] = ["temperature", "top_k", "top_p"].map((n) => +$(n).value);
  const all = top_k >= model.size, seed = $("seed").value;
  return { temperature, top_k: all ? 0 : top_k, top_p, seed, label };
}

function changed() {
  for (const output of document.querySelectorAll("output")) {
    const own = $(output.htmlFor.value);
    output.value = own.id === "top_k" && +own.value >= model.size ? "all" : own.value;
  }
  source?.set(settings());
}

function reseed() { $("seed").value = crypto.getRandomValues(new Uint32Array(1))[0] % 1e9; }

function prepare() {
  document.body.classList.add(sounds ? "sounds" : "writes");
  Object.assign($("top_k"), { max: model.size, value: model.top_k ?? model.size });
  const step = model.temperature * 20 % 1 ? "any" : "0.05", max = Math.max(2, model.temperature);
  Object.assign($("temperature"), { max, step, value: model.temperature });
  $("top_p").value = model.top_p ?? 1;
  $("length").value = sounds || model.ends ? "" : 2000;
  if (model.ends) $("length").previousSibling.data = " at most\n";
  for (const [name, values] of Object.entries(model.labels ?? {})) {
    const options = ["none", ...values].map((value) => new Option(value));
    $("labels").append(make("label", {}, name, make("select", { name }, ...options)));
  }
  reseed();
  restore();
}

function restore() {                   // the settings of a link
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const own = $("controls").elements.namedItem(name);
    if (own) Object.assign(own, own.type === "checkbox" ? { checked: true } : { value });
  }
  changed();
}

function remember() {                  // the settings, so that a link to this page repeats them
  location.replace(`#${new URLSearchParams(new FormData($("controls")))}`);
}

// ---- text
const numbers = new Map(model.vocabulary?.map((letter, number) => [letter, number]));
let written = [], decoder, waiting;    // parts [text, nats]; nats of a character that is not whole

function encode(text) {                // its last symbols; they begin what is written
  const letters = Array.from(text), read = letters.slice(-READ);
  const known = !model.vocabulary || model.choices;      // or else the server says so
  const unknown = new Set(known ? [] : read.filter((letter) => !numbers.has(letter)));
  if (unknown.size) {
    const named = [...unknown].slice(0, 20).map((letter) => `${JSON.stringify(letter)} (U+` +
      `${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")})`).join(", ");
    throw new Error(`The model never saw ${named}: please write the prompt without.`);
  }
  if (letters.length > READ) {
    $("prompt").value = read.join("");
    trouble(`Of the ${counted(letters.length)} characters of the prompt the last ` +
      `${counted(READ)} are kept.`);
  }
  written = read.length ? [[read.join(""), "prompt"]] : [];
  rewrite();
  [decoder, waiting] = [new TextDecoder(), 0];
  if (model.vocabulary) return read.map((letter) => numbers.get(letter));
  return [...new TextEncoder().encode(read.join(""))].slice(-READ);
}

function append(parts) {               // those of one kind, one after the other, into one element
  const pre = $("written"), follows = pre.scrollTop + pre.clientHeight > pre.scrollHeight - 40;
  for (const [text, nats] of parts) {
    const kind = nats === "prompt" ? nats
      : $("coloured").checked && nats >= 0 ? `s${Math.min(6, Math.floor(nats))}` : "plain";
    if (pre.lastChild?.className === kind) pre.lastChild.firstChild.appendData(text);
    else pre.append(make("span", { className: kind }, text));
  }
  if (follows) pre.scrollTop = pre.scrollHeight;
}

function rewrite() {
  $("written").replaceChildren();
  append(written);
}

function write({ symbols, nats }) {
  const parts = [];
  symbols.forEach((symbol, i) => {
    waiting += nats ? nats[i] : NaN;
    const text = model.vocabulary?.[symbol]
      ?? decoder.decode(Uint8Array.of(symbol), { stream: true });
    if (text) {
      parts.push([text, waiting]);
      waiting = 0;
    }
  });
  written.push(...parts);
  if (written.length <= SHOWN) append(parts);
  else {
    written = written.slice(-0.8 * SHOWN);
    rewrite();
  }
  source.more(symbols.length);
}

// ---- sound: its pieces are played one after the other, and more is asked for as they end
let context, analyser, next = 0, playing = new Set(), samples = [], seconds = 0, gaps = 0;
let reader, warm;                      // a worker that makes sound of frames; when it is fast

function play(pcm) {
  const { channels, rate } = model, length = pcm.length / channels;
  const buffer = new AudioBuffer({ length, numberOfChannels: channels, sampleRate: rate });
  for (let c = 0; c < channels; c++)
    buffer.copyToChannel(Float32Array.from({ length }, (_, i) => pcm[channels * i + c] / 32768), c);
  const node = new AudioBufferSourceNode(context, { buffer }), now = context.currentTime * rate;
  if (next < now) {
    gaps += next > 0;
    next = Math.ceil(now + 0.1 * rate);
  }
  node.connect(analyser);
  node.start(next / rate);
  next += length;
  playing.add(node);
  node.onended = () => {
    playing.delete(node);
    source.more(Math.round(length * EACH));
    if (ending && !playing.size) finish("Done");
  };
}

function silence() {                   // what was made ahead is not heard, nor saved
  const dropped = [...playing];
  playing.clear();
  next = 0;
  samples.length -= Math.min(samples.length, dropped.length);
  for (const node of dropped) {
    node.onended = null;
    node.stop();
    seconds -= node.buffer.duration;
  }
}

function heard({ id: own, pcm, ended }) {     // samples of 16 bits, the channels side by side
  if (own !== id) return;              // of what was stopped
  if (ended) {
    ending = true;
    if (!playing.size) finish("Done");    // or else once all is heard
    return;
  }
  samples.push(pcm);
  seconds += pcm.length / model.channels / model.rate;
  while (seconds > KEPT) seconds -= samples.shift().length / model.channels / model.rate;
  play(pcm);
  $("wav").hidden = false;
}

function sound({ symbols = [], ended }) {
  if (reader) reader.postMessage({ id, symbols, last: ended });
  else if (ended) heard({ id, ended });
  else heard({ id, pcm: Int16Array.from(symbols, (level) => model.values[level]) });
}

function wav(pcm, channels = model.channels) {
  const size = pcm.reduce((sum, part) => sum + part.byteLength, 0), frame = 2 * channels;
  return new Blob(["RIFF", Uint32Array.of(36 + size), "WAVEfmt ", Uint32Array.of(16),
    Uint16Array.of(1, channels), Uint32Array.of(model.rate, frame * model.rate),
    Uint16Array.of(frame, 16), "data", Uint32Array.of(size), ...pcm], { type: "audio/wav" });
}

function save() {
  URL.revokeObjectURL($("wav").href);
  const href = URL.createObjectURL(wav(samples));
  Object.assign($("wav"), { href, download: `${model.title}.wav` });
}

function picture(own) {                // one more column of the spectrogram for each frame shown
  if (own !== id) return;
  const canvas = $("heard"), pen = canvas.getContext("2d"), { width, height } = canvas;
  const powers = new Uint8Array(analyser.frequencyBinCount);
  analyser.getByteFrequencyData(powers);
  const place = (y) => Math.floor(powers.length * (2 * LOWEST / model.rate) ** (1 - y / height));
  pen.drawImage(canvas, -1, 0);
  for (let y = 0; y < height; y++) {   // an octave is as high at the bottom as at the top
    const value = Math.max(...powers.subarray(place(y), Math.max(place(y) + 1, place(y + 1))));
    pen.fillStyle = `hsl(${280 - value} 90% ${value / 3}%)`;
    pen.fillRect(width - 1, height - 1 - y, 1, 1);
  }
  requestAnimationFrame(() => picture(own));
}

// ---- keys: of the first label's values
const [label, shown] = Object.entries(model.labels ?? {})[0] ?? ["", []];
const fingers = shown.every((value) => value.length === 1) ? shown
  : [..."1234567890qwertyuiopasdfghjklzxcvbnm"].slice(0, shown.length);

function press(place) {                // it begins anew, and at once
  $("row").children[place].classList.add("down");
  document.querySelector("#labels select").selectedIndex = place + 1;
  if (!id || ending) return start();
  silence();
  id = ++runs;
  reader?.postMessage({ anew: true });
  source.set(settings(), id);
  source.more(AHEAD);
  picture(id);
}

function release(place) {
  $("row").children[place].classList.remove("down");
}

function key(value, place) {
  const button = make("button", { type: "button" }, value, make("small", {}, fingers[place] ?? ""));
  button.onpointerdown = ({ pointerId }) => {
    button.setPointerCapture(pointerId);
    press(place);
  };
  button.onlostpointercapture = () => release(place);
  return button;
}

const FIELDS = "textarea, select, input:not([type=range])";
function finger({ key, repeat, ctrlKey, metaKey, altKey, target, type }) {
  const chosen = [" ", "Enter"].includes(key) ? [...$("row").children].indexOf(target) : -1;
  const place = chosen < 0 ? fingers.indexOf(key) : chosen;
  if (place < 0 || repeat || ctrlKey || metaKey || altKey || target.matches(FIELDS)) return;
  (type === "keydown" ? press : release)(place);
}

// ---- start and stop
function report(word) {
  const rate = 1000 * made / (performance.now() - begun), missed = gaps && `, gaps: ${gaps}`;
  const shown = sounds ? `${(made / UNIT).toFixed()} s${missed || ""}`
    : `${counted(Math.round(rate))} characters a second`;
  $("status").textContent = made ? `${word}: ${shown}` : `${word}.`;
}

function finish(word) {
  [id, ending] = [0, false];
  source.stop();
  $("stop").disabled = true;
  report(word);
}

function told(piece) {
  if (piece.id !== id) return;         // of what was stopped
  if (piece.ended && !sounds) return finish("Done");
  made += piece.symbols?.length ?? 0;
  (sounds ? sound : write)(piece);
  if (made % TOLD < piece.symbols?.length) report("Making");
}

function start(event) {
  event?.preventDefault();
  stop();
  trouble("");
  [made, begun, gaps, samples, seconds] = [0, performance.now(), 0, [], 0];
  reader?.postMessage({ anew: true });
  try {
    if (!/^\d{1,18}$/.test($("seed").value)) throw new Error("The seed is a whole number.");
    const prompt = sounds ? [] : encode($("prompt").value);
    id = ++runs;
    if (sounds) {
      if (!context) {
        context = new AudioContext({ sampleRate: model.rate });
        const fftSize = 2 ** Math.round(Math.log2(0.08 * model.rate));
        analyser = new AnalyserNode(context, { fftSize, smoothingTimeConstant: 0 });
        analyser.connect(context.destination);
      }
      context.resume();                // while the first symbols are made
      picture(id);
    }
    source.start(id, prompt, whole($("length").value * UNIT) || Infinity, settings());
    source.more(AHEAD);
    $("stop").disabled = false;
    remember();
    report("Making");
  } catch (error) {
    trouble(error.message);
    finish("Stopped");
  }
}

function stop() {
  silence();
  if (id) finish("Stopped");
}

async function opened(kind) {
  await warm;
  $("start").disabled = false;
  $("status").textContent = "Ready.";
  document.body.dataset.ready = kind;
}

async function ready() {
  prepare();
  const { contents, choices } = model;
  const runs = () => ["relaxed", "plain"].some((name) => WebAssembly.validate(contents[name]));
  if (self.DecompressionStream)
    for (const name in contents) contents[name] = await unpacked(contents[name]);
  if (!self.DecompressionStream || !(choices || (self.WebAssembly && runs()))) {
    $("status").textContent = "";
    return trouble("This browser has no WebAssembly with SIMD, or cannot unpack the model. " +
      "Chrome 91, Firefox 113, Safari 16.4 and later ones can.");
  }
  if (model.spectral) {
    warm = new Promise((done) => {
      reader = workerOf("spectral", (data) => (data.warm ? done() : heard(data)));
    });
    reader.postMessage({ codec: { ...model.spectral, ...contents } });
  }
  if (choices) {
    source = serve();
    opened("server");
  } else source = workerSource();
  Object.assign($("controls"), { onsubmit: start, oninput: changed });
  $("coloured").onchange = rewrite;
  window.onhashchange = restore;
  for (const [name, call] of Object.entries({ stop, other: reseed, wav: save }))
    $(name).onclick = call;
  if (!sounds || !shown.length) return;
  $("keys").hidden = false;
  $("keys").firstChild.append(label);
  $("row").append(...shown.map(key));
  document.onkeydown = document.onkeyup = finger;
}

document.addEventListener("DOMContentLoaded", () => ready().catch(broken));
