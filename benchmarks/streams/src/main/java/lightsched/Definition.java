package lightsched;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** What is stored of an event as it was sent? Due (8 bytes), length of the type (1 byte), type, payload. */
final class Definition {
  static byte[] bytes(long due, String type, byte[] json, int payload, int payloadEnd) {
    byte[] name = Text.bytes(type);
    return ByteBuffer.allocate(9 + name.length + payloadEnd - payload)
        .putLong(due)
        .put((byte) name.length)
        .put(name)
        .put(json, payload, payloadEnd - payload)
        .array();
  }

  static byte[] type(byte[] definition) {
    return Arrays.copyOfRange(definition, 9, payloadAt(definition));
  }

  static byte[] payload(byte[] definition) {
    return Arrays.copyOfRange(definition, payloadAt(definition), definition.length);
  }

  private static int payloadAt(byte[] definition) {
    return 9 + Byte.toUnsignedInt(definition[8]);
  }
}
