"""What a server imports and compiles, done once by the process that servers are forked from (`tests/forked.py`)."""

import uvicorn
import uvicorn.lifespan.on
import uvicorn.loops.auto  # noqa: F401

from quorate.compile_kernels import session_calls

for call in session_calls():
    call()
