"""seqkit: character and sample-level sequence models on cuDNN's LSTM.

errors, disk, config, device, randomness, console    the ground, on which every room stands
kernels       time what runs on a GPU
model         the network: equations, fused calls, packing
data          files become symbols, symbols become batches; codecs, data sets, sound
evaluation    what a model is worth: protocols, scores, baselines
training      one update, the choice of kernels, the loop that yields events
generation    symbols out of a model: the sampler, the watch over sound, the engines
runs          what a run leaves: checkpoints and the folder
bench         how long training and generation take
commands      one file a verb
compose, cli  arguments to a checked config; commands and exit codes
"""

__version__ = "0.1.0"
