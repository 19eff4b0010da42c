"""Arguments and recipes become a checked config; Hydra is imported where a recipe is chosen."""

from seqkit.compose.arguments import FREE_TEXT as FREE_TEXT
from seqkit.compose.arguments import Composed as Composed
from seqkit.compose.arguments import compose as compose
from seqkit.compose.arguments import given_keys as given_keys
from seqkit.compose.arguments import going_on as going_on
from seqkit.compose.sweeping import is_of_sweep as is_of_sweep
from seqkit.compose.sweeping import refuse_keys_of_others as refuse_keys_of_others
from seqkit.compose.sweeping import sweep as sweep
