package mail;

import static java.nio.charset.StandardCharsets.UTF_8;
import static mail.Place.GROUP;
import static mail.Place.KAFKA;
import static mail.Place.PREFIX;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends the mails that are due, and reports what came of them. */
public final class Execute {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        Map<String, Object> reading = Map.of(
                "bootstrap.servers", KAFKA,
                "group.id", GROUP,
                "isolation.level", "read_committed", // an aborted delivery never happened
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false);
        Map<String, Object> writing = Map.of("bootstrap.servers", KAFKA);
        var main = Thread.currentThread();
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new ByteArrayDeserializer());
                var producer = new KafkaProducer<>(writing, new StringSerializer(), new ByteArraySerializer())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                join(main);
            }));
            consumer.subscribe(List.of(PREFIX + "deliveries"));
            while (true) {
                var reports = new ArrayList<Future<RecordMetadata>>();
                for (var delivery : consumer.poll(Duration.ofSeconds(1))) {
                    if (header(delivery, "ce_type").equals("mail.send")) { // others have executors of their own
                        reports.add(producer.send(report(delivery)));
                    }
                }
                for (var sent : reports) sent.get();
                consumer.commitSync(); // after the reports: a crash in between repeats a delivery, and loses none
            }
        } catch (WakeupException stopped) {
            System.out.println("stopped");
        }
    }

    /** What came of a delivery, for the partition that it names. */
    private static ProducerRecord<String, byte[]> report(ConsumerRecord<String, byte[]> delivery) throws IOException {
        var report = JSON.createObjectNode()
                .put("delivery", header(delivery, "ce_id"))
                .put("token", header(delivery, "ls_report"))
                .put("executor", "java");
        try {
            report.put("status", "SUCCESS").set("result", send(delivery));
        } catch (Exception failed) {
            report.put("status", "RETRIABLE_FAILURE").put("error", failed.toString());
        }
        int partition = Integer.parseInt(header(delivery, "ls_partition"));
        return new ProducerRecord<>(PREFIX + "reports", partition, delivery.key(), JSON.writeValueAsBytes(report));
    }

    /** The work. It may see a delivery twice, with the same {@code ce_id}: real work goes by that. */
    private static JsonNode send(ConsumerRecord<String, byte[]> delivery) throws IOException {
        var mail = JSON.readTree(delivery.value());
        System.out.println(header(delivery, "ce_id") + " due " + header(delivery, "ce_time") + ": " + mail);
        return JSON.createObjectNode().put("sent_to", mail.required("to").asText());
    }

    private static String header(ConsumerRecord<?, ?> record, String name) {
        return new String(record.headers().lastHeader(name).value(), UTF_8);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
