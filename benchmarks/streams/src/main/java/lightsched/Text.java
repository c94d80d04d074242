package lightsched;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;

/** How do bytes become text, times and fingerprints? Each thread has its own digest. */
final class Text {
  private static final int FINGERPRINT_BYTES = 12;
  private static final ThreadLocal<MessageDigest> SHA_256 = ThreadLocal.withInitial(Text::sha256);

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String of(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static byte[] fingerprint(byte[] definition) {
    return Arrays.copyOf(SHA_256.get().digest(definition), FINGERPRINT_BYTES);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Times as RFC 3339, UTC, with milliseconds. Most are within the second of the one before: that part is kept. */
  static final class Utc {
    private long second = Long.MIN_VALUE;
    private byte[] text;

    byte[] format(long ms) {
      long wanted = Math.floorDiv(ms, 1000L);
      if (wanted != second) {
        second = wanted;
        text = bytes(Instant.ofEpochSecond(second).toString().replace("Z", ".000Z"));
      }
      byte[] formatted = text.clone();
      int rest = (int) (ms - second * 1000);
      formatted[formatted.length - 4] += (byte) (rest / 100);
      formatted[formatted.length - 3] += (byte) (rest / 10 % 10);
      formatted[formatted.length - 2] += (byte) (rest % 10);
      return formatted;
    }
  }
}
