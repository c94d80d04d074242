package lightsched;

import java.nio.ByteBuffer;

/** What changes about an event? Small, and rewritten when it fires; afterwards it is its history. */
record State(int revision, Status status, long created, long due, long seq, long fired, byte[] fingerprint) {
  enum Status {
    NOT_STARTED,
    SUCCESS,
    CANCELLED;

    private static final Status[] ALL = values();
  }

  /** The next revision of what was there before, if anything was. Its offset is its place among those due with it. */
  static State scheduled(State old, long appended, long due, long offset, byte[] fingerprint) {
    int revision = old == null ? 1 : old.revision + 1;
    long created = old == null ? appended : old.created;
    return new State(revision, Status.NOT_STARTED, created, due, offset, 0, fingerprint);
  }

  State ended(Status status, long fired) {
    return new State(revision, status, created, due, seq, fired, fingerprint);
  }

  static State of(byte[] bytes) {
    if (bytes == null) return null;
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    int revision = buffer.getInt();
    Status status = Status.ALL[buffer.get()];
    long created = buffer.getLong(), due = buffer.getLong(), seq = buffer.getLong(), fired = buffer.getLong();
    byte[] fingerprint = new byte[buffer.remaining()];
    buffer.get(fingerprint);
    return new State(revision, status, created, due, seq, fired, fingerprint);
  }

  byte[] bytes() {
    return ByteBuffer.allocate(4 + 1 + 4 * 8 + fingerprint.length)
        .putInt(revision)
        .put((byte) status.ordinal())
        .putLong(created)
        .putLong(due)
        .putLong(seq)
        .putLong(fired)
        .put(fingerprint)
        .array();
  }
}
