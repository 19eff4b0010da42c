"""Commands and keys of earlier versions that are gone, each with what to use instead.

Whoever types one is told so (exit code 2). The configs of older checkpoints may hold them: they are
passed over, but for those that change a network or how it goes on learning.
"""

COMMANDS: dict[str, str] = {
    "bench": "python -m benchmarks.steps SHAPE, in a clone of the repository",
    "compress": "examples/compress.py, in a clone of the repository, packs a text with a model",
    "decompress": "examples/compress.py, in a clone of the repository, unpacks what it packed",
    "prepare": "train with data.path=…: what was encoded stays in the cache, however large it is",
    "push": "hf upload USER/NAME CHECKPOINT checkpoint.safetensors, of huggingface_hub, shares it",
}
"""By the name of the command."""
KEYS: dict[str, str] = {
    "data=audio": "give data.kind=audio",
    "data=bytes": "give data.kind=bytes",
    "data=text": "give data.kind=text",
    "gpus": "launcher=local runs a job on each GPU that CUDA_VISIBLE_DEVICES names",
    "jobs": "xargs -P 4 -n 1 starts python -m seqkit for several values at once",
    "like": "nothing sings a MIDI file any more; prompt_audio=FILE begins a sound",
    "launcher=slurm": "a job script of Slurm calls python -m seqkit, with a run_dir of its own",
    **{
        f"launcher.{key}": "a job script of Slurm says it in a line #SBATCH"
        for key in ("account", "cpus", "kind", "memory_gb", "minutes", "partition")
    },
    "search": "--multirun trains every combination; examples/search.py searches with Optuna",
    "data.column": "seqkit.train(text=…) takes a column that the library datasets has read",
    "data.hf_split": "the library datasets reads a split; give its text to seqkit.train(text=…)",
    "data.hf_subset": "the library datasets reads a subset; give its text to seqkit.train(text=…)",
    "data.kind=hf": "the library datasets reads its text, which seqkit.train(text=…) takes",
    "data.label_column": "write the rows of each label as files into a folder of its name, and "
    "give data.label=folder",
    "data.conditions": "data.codec=spectral, as recipe=my_sound has it, needs no row beside it",
    "data.copies": "train.input_noise draws a share of the symbols that are read anew",
    "data.copy_noise": "train.input_noise draws a share of the symbols that are read anew",
    "data.newline": "tr -d '\\r' takes the CR of Windows' line ends out of a file",
    "data.leave_out": "tr -d ' ' takes the spaces out of a file, as sed does other characters",
    "data.bands": "data.codec=spectral, as recipe=my_sound has it, takes all the band in frames",
    "data.emphasis": "data.codec=spectral, as recipe=my_sound has it, has no hiss to lower",
    "data.document=blank_line": r"data.document='\n\n' cuts at empty lines",
    "data.dataset=etude_32k": "it is called etude_44k now, at 44.1 kHz",
    "data.gain=rms": "data.gain=peak brings quiet sound to full scale",
    "data.quantiser": "it is called data.codec now",
    "data.sha256": "sha256sum gives it; docs/reference/recipes.md has that of each benchmark",
    "dynamic": "evaluate protocol=dynamic learns by settings of its own",
    "ensemble": "examples/teachers.py measures several checkpoints together",
    "learn": "evaluate protocol=dynamic measures a model that learns from the text it reads",
    "log": "seqkit.train(on_event=…) hands each figure to a logger, as TensorBoard's",
    "host": "play listens on this machine alone: ssh -L 8000:localhost:8000 MACHINE reaches it",
    "licence": "give it in the README.md that you upload with hf upload",
    "sample.engine=onnx": "sample.engine=wasm runs LSTMs on a CPU, and torch is exact",
    "sample.engine=fused": "sample.engine=cuda_graph generates on a GPU, any number of streams",
    "optimizer.final_lr": "the cosine ends at 0; optimizer.schedule=constant keeps the rate",
    "optimizer=adamw": "it is what there is by default",
    "optimizer=sgd": "AdamW updates the weights",
    "optimizer.kind": "AdamW updates the weights",
    "optimizer.beta1": "it is 0.9",
    "optimizer.beta2": "it is 0.99",
    "optimizer.momentum": "AdamW updates the weights",
    "neuron": "Model.state, from Python, gives what all cells hold after a text",
    "data.symbols_per_sample": "a sample is one symbol, of data.levels=1024 at most",
    "model.autotune": "train.deterministic=true times no precisions either",
    "model.condition_size": "nothing but labels is read beside the symbols",
    "model.conditions": "nothing but labels is read beside the symbols: train it anew",
    "model.lookback": "recipe=my_sound learns sound in minutes without it: train it anew",
    "model.cell_clip": "nothing bounds the cells; train.clip_norm bounds the gradient",
    "sample.novel": "examples/new_names.py, in a clone of the repository, prints new names",
    "sample.postfilter": "data.codec=spectral, as recipe=my_sound has it, has no hiss to filter",
    "sample.rate": "sound has the model's rate; a program for sound writes it at another one",
    "sample.repetition_penalty": "a higher temperature=… repeats less",
    "sample.retry": "of sound, takes=8 makes eight and keeps the best",
    "protocol=spectral": "generate checkpoint=… streams=3 judges each sound that it makes",
    "shape": "python -m benchmarks.steps SHAPE, in a clone of the repository",
    "train.clip_value": "train.clip_norm bounds the norm of the whole gradient",
    "train.teacher_symbols": "examples/teachers.py has --symbols",
    "train.teachers": "examples/teachers.py trains a network on what others say",
    "to": "hf upload, of huggingface_hub, shares a checkpoint",
}
"""By the key, or by key=value where one value of a key is gone."""
OF_COMMANDS = {
    "compare out": "the report of a run draws its curves, and metrics.jsonl has them",
}
"""By a command and a key that only others read now."""
URL = (
    "URLs are not read: download the file, and give its path (hf download fetches one from Hugging "
    "Face's hub)"
)
"""Of a URL, such as hf://USER/NAME, in the place of a checkpoint."""
OF_NETWORK = ("model.cell_clip", "model.conditions", "model.lookback")
"""Keys with which, unless they are 0, a network gives other numbers: it is not read."""


def instead(key: str, value: object = None) -> str | None:
    """What to use instead of a key, its group, or this value of it; None: none of them is gone."""
    return KEYS.get(key) or KEYS.get(key.partition(".")[0]) or KEYS.get(f"{key}={value}")
