package mail;

/** Where lightsched's topics are, and who shares the work. */
final class Place {
    static final String KAFKA = System.getenv().getOrDefault("KAFKA", "127.0.0.1:9092");
    static final String PREFIX = System.getenv().getOrDefault("PREFIX", "lightsched.");
    static final String GROUP = System.getenv().getOrDefault("GROUP", "mailer");

    private Place() {}
}
