"""Asks the processor for memory before it is needed; numba has no function for that."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_NAME = "llvm.prefetch.p0i8"         # newer LLVMs drop the type of the pointer by themselves
_READ, _ALL_CACHES, _DATA = 0, 3, 1


def _prefetch(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Start to fetch array[row, column]. Nothing waits for it, and no result depends on it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        held = context.make_array(kind)(context, builder, values[0])
        place = cgutils.get_item_pointer(context, builder, kind, held, list(values[1:]), wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, number, number, number]), _NAME
        )
        how = [ir.Constant(number, value) for value in (_READ, _ALL_CACHES, _DATA)]
        builder.call(function, [builder.bitcast(place, byte), *how])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
