// What the page of a server has beside: the server as a source, a choice of models, recordings.
const AT_ONCE = 5_000_000;     // symbols of a request
const TAIL = 4000;             // characters, or symbols of sound, that it goes on from
const query = new URLSearchParams(location.search);
let recorded = "", recorder;

function asked({ temperature, top_p, top_k }) {
  const label = [...document.querySelectorAll("#labels select")].map((own) => `${own.name}:${own.value}`);
  return new URLSearchParams({ checkpoint: model.title, temperature, top_p, ...(top_k && { top_k }),
    ...(model.labels && { label }),
    ...(model.ends && { until: "document" }), json: true, live: true, nats: $("coloured").checked });
}

function tail({ last }) {                  // of what is there, to go on from
  if (!sounds) return written.flatMap(([text]) => Array.from(text)).slice(-TAIL).join("");
  return last.length ? JSON.stringify(last) : recorded;
}

// What is changed meanwhile goes on from the end of what was made, with the next seed.
function serverSource() {
  const headers = { Authorization: `Bearer ${query.get("token")}` };
  let run = {}, timer;

  async function ask(body, own) {
    const { signal } = own.abort = new AbortController(), keys = new URLSearchParams(own.keys);
    const count = Math.min(own.left, AT_ONCE);
    keys.set("seed", own.seed++);
    keys.set(sounds ? "seconds" : "length", count / UNIT);
    try {
      const answer = await fetch(`generate?${keys}`, { method: "POST", headers, body, signal });
      if (!answer.ok) throw new Error((await answer.json()).error);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { done, value } = await reader.read();
        if (signal.aborted) return;
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const { symbols, nats } of lines.map(JSON.parse)) {
          own.left -= symbols.length;
          own.last.push(...symbols);
          own.last.splice(0, whole(Math.max(0, own.last.length - TAIL)));     // of whole frames
          told({ id: own.id, symbols, nats });
        }
      }
      if (own.left > 0 && !model.ends) ask(tail(own), own);
      else told({ id: own.id, ended: true });
    } catch (error) {
      if (signal.aborted) return;
      trouble(error instanceof TypeError ? "The server does not answer any more." : error.message);
      finish("Stopped");
    }
  }
  return {
    start(id, prompt, left, given) {
      run = { id, left, seed: BigInt(given.seed), keys: asked(given), last: [] };
      ask(sounds ? recorded : $("prompt").value, run);
    },
    set(given, id = run.id) {              // as another run, from the beginning on
      const own = run, keys = asked(given), anew = id !== own.id;
      if (!anew && `${keys}` === `${own.keys}`) return;
      Object.assign(own, { id, keys });
      clearTimeout(timer);
      if (!id || own.left <= 0) return;
      timer = setTimeout(() => {           // once a slider rests
        own.abort.abort();
        if (anew) own.last = [];
        ask(anew ? "" : tail(own), own);
      }, anew ? 0 : 150);
    },
    more() {},
    stop() {
      clearTimeout(timer);
      run.abort?.abort();
      run = {};
    },
  };
}

async function record(file) {
  recorded = "";
  if (!file) return;
  try {
    const context = new OfflineAudioContext(1, 1, model.rate);   // which changes the rate, too
    const heard = await context.decodeAudioData(await file.arrayBuffer());
    const channels = Array.from({ length: heard.numberOfChannels }, (_, c) => heard.getChannelData(c));
    const kept = Math.min(heard.length, READ), first = heard.length - kept;
    const pcm = Int16Array.from({ length: kept }, (_, i) => 32767 * Math.max(-1, Math.min(1,
      channels.reduce((sum, own) => sum + own[first + i], 0) / channels.length)));
    recorded = wav([pcm], 1);
    $("status").textContent = `Start goes on from ${(kept / model.rate).toFixed(1)} s of a recording.`;
  } catch {
    trouble("This is no recording that the browser can read.");
  }
}

async function microphone() {
  if (recorder) return recorder.stop();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true }), parts = [];
    recorder = new MediaRecorder(stream);
    recorder.ondataavailable = ({ data }) => parts.push(data);
    recorder.onstop = () => {
      for (const track of stream.getTracks()) track.stop();
      recorder = null;
      $("microphone").textContent = "Record";
      record(new Blob(parts));
    };
    recorder.start();
    $("microphone").textContent = "Stop recording";
  } catch (error) {
    trouble(`No microphone: ${error.message}`);
  }
}

function serve() {
  document.body.classList.add("served");
  $("choice").append(...model.choices.map((name) => new Option(name)));
  $("choice").value = model.title;
  $("choice").onchange = () => {
    query.set("checkpoint", $("choice").value);
    remember();
    location.search = query;
  };
  $("microphone").onclick = microphone;
  $("recording").onchange = () => record($("recording").files[0]);
  return serverSource();
}
