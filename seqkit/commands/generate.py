"""`generate`: a checkpoint continues a prompt."""

from pathlib import Path

from seqkit.commands import outputs
from seqkit.commands.interrupts import Interrupts, ended_by_signals
from seqkit.commands.outputs import Sample
from seqkit.config import Keys
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.run_folders import samples_folder
from seqkit.foundation.stdout import Product
from seqkit.generation.generate import check_takes, generate
from seqkit.runs.named_checkpoint import load_checkpoint


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Write the prompt and `length` new symbols, or those up to `until`, to stdout or to `out`.

    With include_prompt=false, only what is new.

    Several streams of text are printed one below the other, or written to numbered files; those of
    a model that learnt several documents of a file to one. Sound without `out` goes to new files,
    whose names are printed.
    """
    with ended_by_signals() as interrupts:
        _run(keys, catalogue, console, interrupts)


def _run(keys: Keys, catalogue: Catalogue, console: Console, interrupts: Interrupts) -> None:
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    chosen = device.find_device(keys.device, for_all=True)
    many = "takes" if keys.takes > 1 else "streams"
    medium, source, request = saved.asked(keys)
    check_takes(request.takes, request.length, saved.codec, saved.recording)
    prompt = medium.read_prompt(source, console.notice)
    shown = prompt if keys.include_prompt else prompt[:0]
    document = saved.settings.data.document
    is_list = keys.streams > 1 and document != "file"  # then one file has all streams
    files = outputs.free_files(
        keys.out,
        (keys.checkpoint, keys.prompt_file, keys.prompt_audio),
        overwrite=keys.overwrite,
        streams=1 if is_list else keys.streams,
    )
    to_stdout = keys.out == "-" or (keys.out is None and medium.printed)
    if to_stdout:
        terminal = Product().terminal
        if not medium.printed and (keys.streams > 1 or terminal):
            raise ConfigError("out=-: a pipe takes one stream, a terminal none: give out=NAME.wav")
    for file in files:
        if problem := medium.refusal(file):
            raise ConfigError(f"{file}: {problem}")
    advice = f"Try fewer {many}" + (", or device=cpu." if chosen.type == "cuda" else ".")
    with device.memory_errors(advice):
        sample = Sample(medium, shown, request.length, console, interrupts, keys.streams, document)
        with console.progress("setting up"):
            trained, watch = saved.trained(saved.network(chosen)), sample.watched
            blocks = generate(trained, prompt, request, console.notice, watch=watch)
        # What can fail has happened by now, before any file is opened.
        if to_stdout:
            (sample.write_all if keys.streams > 1 else sample.print_one)(blocks)
            return
        if is_list:
            sample.write_all(blocks, files[0], overwrite=keys.overwrite)
            return
        if not files:
            folder = Path() if saved.name else samples_folder(saved.file)
            files = outputs.new_files(folder, keys.streams, medium.suffix)
        sample.write_files(blocks, files, overwrite=keys.overwrite)
    if keys.out is None:
        outputs.print_names(files)
