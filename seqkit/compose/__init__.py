"""Arguments and recipes become a checked config; Hydra is imported where a recipe is chosen."""

from seqkit.compose.arguments import FREE_TEXT as FREE_TEXT
from seqkit.compose.arguments import compose as compose
from seqkit.compose.arguments import compose_training as compose_training
from seqkit.compose.arguments import given_keys as given_keys
from seqkit.compose.arguments import sweep as sweep
