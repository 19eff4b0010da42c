"""Hydra: arguments become a checked config. Nothing else knows it but the command line."""

from seqkit.compose.composing import FREE_TEXT as FREE_TEXT
from seqkit.compose.composing import Composed as Composed
from seqkit.compose.composing import compose as compose
from seqkit.compose.composing import given_keys as given_keys
from seqkit.compose.composing import going_on as going_on
from seqkit.compose.sweeping import Choices as Choices
from seqkit.compose.sweeping import Domain as Domain
from seqkit.compose.sweeping import Space as Space
from seqkit.compose.sweeping import Span as Span
from seqkit.compose.sweeping import is_of_sweep as is_of_sweep
from seqkit.compose.sweeping import refuse_keys_of_others as refuse_keys_of_others
from seqkit.compose.sweeping import space as space
from seqkit.compose.sweeping import sweep as sweep
