"""seqkit: character and sample-level sequence models on cuDNN's LSTM.

config, errors, paths     keys and their ranges; failures and exit codes; where things are
codecs, randomness        symbols and what they stand for; draws as functions of counters
datasets, text, corpus    finding data; reading and caching it; laying it out in lanes
model                     CharRNN: its equations and its state
training, evaluation      the loop that yields events; nats, streaming or in windows
generation, engines       the sampler; what makes its steps
checkpoint                self-contained files
device, run_folder        the choice of device and arithmetic; the files of a run
console, commands, cli    stderr and stdout; train, generate, evaluate …; arguments
"""

__version__ = "0.1.0"
