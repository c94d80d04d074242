// Sends the mails that are due, and reports what came of them.

import kafkajs from "kafkajs";
import { compressFrame, decompressFrame } from "lz4-napi";
import { GROUP, kafka, PREFIX } from "./place.js";

// lightsched compresses with lz4, which kafkajs leaves to a codec of one's own.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: (encoder) => compressFrame(encoder.buffer),
  decompress: decompressFrame,
});

const consumer = kafka.consumer({ groupId: GROUP }); // reads only what is committed, as kafkajs does by default
const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
await Promise.all([consumer.connect(), producer.connect()]);
await consumer.subscribe({ topic: `${PREFIX}deliveries`, fromBeginning: true });

// Its offset is committed once this is over: a crash before repeats a delivery, and loses none.
await consumer.run({
  eachMessage: async ({ message }) => {
    const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, value.toString()]));
    if (headers.ce_type !== "mail.send") return; // others have executors of their own
    const report = { delivery: headers.ce_id, token: headers.ls_report, executor: "node", ...outcome(message, headers) };
    const partition = Number(headers.ls_partition);
    await producer.send({
      topic: `${PREFIX}reports`,
      messages: [{ partition, key: message.key, value: JSON.stringify(report) }],
    });
  },
});

function outcome(message, headers) {
  try {
    return { status: "SUCCESS", result: send(message, headers) };
  } catch (error) {
    return { status: "RETRIABLE_FAILURE", error: String(error) };
  }
}

// The work. It may see a delivery twice, with the same ce_id: real work goes by that.
function send(message, headers) {
  console.log(`${headers.ce_id} due ${headers.ce_time}: ${message.value}`);
  const mail = JSON.parse(message.value.toString());
  if (!mail.to) throw new Error("a mail needs an address");
  return { sent_to: mail.to };
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await consumer.disconnect();
    await producer.disconnect();
    console.log("stopped");
  });
}
