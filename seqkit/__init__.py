"""seqkit: character and sample-level sequence models on cuDNN's LSTM.

config, errors, paths      keys and their ranges; failures and exit codes; where things are
codecs, signals            symbols and what they stand for; sound as numbers
randomness                 draws as functions of counters
datasets                   finding, downloading or making named data
text, audio, corpus        files of either kind to symbols, read once and kept in the cache
lanes                      the windows that training reads
recurrence, model          the cells as equations and as fused calls; CharRNN, its state explicit
step, plans, training      one update; how it runs fastest; the loop that yields events
evaluation, yardsticks     nats, streaming or in windows; what needs no training
generation, engines        the sampler; what makes its steps
guard, pictures            a watch over sound; what it looks like
checkpoint, run_folder     self-contained files; the files of a run
device, timing, benchmark  the choice of device and arithmetic; how long things take
console, commands, cli     stderr and stdout; train, generate, evaluate …; arguments
"""

__version__ = "0.1.0"
