"""Commands and keys that are gone, each with what to use instead, as who types one is told."""

COMMANDS: dict[str, str] = {
    "bench": "python -m benchmarks.steps SHAPE, in a clone of the repository",
    "compress": "examples/compress.py, in a clone of the repository, packs a text with a model",
    "decompress": "examples/compress.py, in a clone of the repository, unpacks what it packed",
    "prepare": "train with data.path=…: what was encoded stays in the cache, however large it is",
    "push": "hf upload USER/NAME CHECKPOINT checkpoint.safetensors, of huggingface_hub, shares it",
}
"""By the name of the command."""
KEYS: dict[str, str] = {
    "gpus": "launcher=local runs a job on each GPU that CUDA_VISIBLE_DEVICES names",
    "jobs": "xargs -P 4 -n 1 starts python -m seqkit for several values at once",
    "like": "nothing sings a MIDI file any more; prompt_audio=FILE begins a sound",
    "launcher=slurm": "a job script of Slurm calls python -m seqkit, with a run_dir of its own",
    "search": "--multirun trains every combination; examples/search.py searches with Optuna",
    "data.kind=hf": "the library datasets reads its text, which seqkit.train(text=…) takes",
    "ensemble": "examples/teachers.py measures several checkpoints together",
    "host": "play listens on this machine alone: ssh -L 8000:localhost:8000 MACHINE reaches it",
    "log": "seqkit.train(on_event=…) hands each figure to a logger, as TensorBoard's",
    "sample.engine=onnx": "sample.engine=wasm runs LSTMs on a CPU, and torch is exact",
    "sample.engine=fused": "sample.engine=cuda_graph generates on a GPU, any number of streams",
    "neuron": "Model.state, from Python, gives what all cells hold after a text",
    "data.symbols_per_sample": "a sample is one symbol, of data.levels=1024 at most",
    "sample.novel": "examples/new_names.py, in a clone of the repository, prints new names",
    "sample.postfilter": "data.codec=spectral, as recipe=my_sound has it, has no hiss to filter",
    "protocol=spectral": "generate checkpoint=… streams=3 judges each sound that it makes",
    "train.teachers": "examples/teachers.py trains a network on what others say",
}
"""By the key, or by key=value where one value of a key is gone."""


def instead(key: str, value: object = None) -> str | None:
    """What to use instead of a key, its group, or this value of it; None: none of them is gone."""
    return KEYS.get(key) or KEYS.get(key.partition(".")[0]) or KEYS.get(f"{key}={value}")
