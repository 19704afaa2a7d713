"""What a Tensor says to functions and transforms of JAX's that it is given to outside of traces."""

from __future__ import annotations

import sys
from typing import Any

from tracegrad.errors import ConversionError, TracegradError


def refused_by_jax(x: Any) -> Any:
    """Where functions of JAX's look for an array, and find none, they tell what to write.

    JAX asks everything that it does not know for ``__jax_array__``; its operators leave a Tensor
    that has none to the Tensor's own.
    """
    if x._is_traced:
        raise AttributeError("__jax_array__")
    frame, asking = sys._getframe(1), list[str]()
    while frame is not None and len(asking) < 3:
        asking.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    if asking == ["typeof", "valid_jaxtype", "check_arg"]:
        raise TracegradError(_TRANSFORM)
    if asking[0] not in _ABOUT_TO_REFUSE:
        raise AttributeError("__jax_array__")
    asks = asking[0] == "typeof"  # whether something has a type at all
    raise (ConversionError if asks else TracegradError)(_FUNCTION)


def refuse_text(x: Any) -> None:
    """Raises where C code in JAX is about to refuse a Tensor in a message that shows it."""
    module = sys._getframe(2).f_globals.get("__name__")
    if module in _SAYING and not x._is_traced:
        raise TracegradError(_SAYING[module])


_FUNCTION = (
    "a function of JAX's is given a Tensor: write NumPy's, np.sin(x) for jnp.sin(x), and "
    "tg.nn.relu(x) for jax.nn.relu(x), which run on the device of a Tensor and record gradients; "
    "or pass x.detach().cpu().numpy() where no gradient is needed"
)
_TRANSFORM = (
    "a transform of JAX's is given a Tensor: write tracegrad's, tg.grad(f)(x) for jax.grad(f)(x), "
    "which take Tensors; or pass x.detach().cpu().numpy()"
)
_SAYING = {"jax._src.core": _FUNCTION, "jax._src.api": _TRANSFORM}
"""What is said by modules of JAX whose C code refuses a Tensor, and shows it in its message."""
_ABOUT_TO_REFUSE = frozenset({"shaped_abstractify", "_arraylike", "typeof"})
"""Functions of JAX in which what has no ``__jax_array__`` is an error that says nothing of it."""
