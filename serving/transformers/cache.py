"""Keys and values of what was evaluated: cut back and copied without touching what others still use.

transformers' own crop() changes a cache in place, and its meaning changed between versions. A layer never writes into
its tensors (it puts new ones in their place), so a shallow copy is a snapshot that costs nothing.
"""

import copy

from transformers import DynamicCache, PreTrainedConfig
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

_KNOWN = (DynamicLayer, DynamicSlidingWindowLayer)


def empty(config: PreTrainedConfig) -> DynamicCache:
    """A cache for a model of this kind, with nothing in it."""
    return DynamicCache(config=config)


def divisible(cache: DynamicCache) -> bool:
    """Whether a reply can go on from a part of such a cache: not so for models with a running state."""
    return all(type(layer) in _KNOWN for layer in cache.layers)


def cut(cache: DynamicCache, length: int, *, own: bool = False) -> DynamicCache | None:
    """Its first `length` tokens; the cache itself stays as it is. None where they are no longer all there.

    own: with tensors of its own, so that the rest of the cache can be freed.
    """
    layers = [_cut(layer, length, own=own) for layer in cache.layers]
    if any(layer is None for layer in layers):
        return None
    part = copy.copy(cache)
    part.layers = layers
    return part


def _cut(layer: DynamicLayer, length: int, *, own: bool) -> DynamicLayer | None:
    here = layer.get_seq_length()
    if here < length:
        return None
    part = copy.copy(layer)
    if here > length:
        if layer.is_sliding and here >= layer.sliding_window:  # what it let go cannot be brought back
            return None
        part.keys, part.values = layer.keys[..., :length, :], layer.values[..., :length, :]
        if layer.is_sliding:
            part.cumulative_length = length
    if own and part.is_initialized:
        part.keys, part.values = part.keys.clone(), part.values.clone()
    return part
