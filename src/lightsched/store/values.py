"""How are values written? As MessagePack, by the shapes of the engine; definitions stay the bytes that were sent."""

import msgspec

from lightsched.engine.state import FinishedRun, State
from lightsched.engine.step import Meta

encode = msgspec.msgpack.Encoder().encode
decode_state = msgspec.msgpack.Decoder(State).decode
decode_run = msgspec.msgpack.Decoder(FinishedRun).decode
decode_meta = msgspec.msgpack.Decoder(Meta).decode
