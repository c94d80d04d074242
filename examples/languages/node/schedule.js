// Schedules a mail for two seconds from now: node schedule.js ID ADDRESS

import { Partitioners } from "kafkajs";
import { kafka, PREFIX } from "./place.js";

const [id, to] = process.argv.slice(2);
const event = {
  id,
  key: to, // mails to one address keep their order
  type: "mail.send",
  in: "2s",
  retry: { delays: ["1s"] }, // so that it is tracked: executors report
  payload: { to, text: "Hello from Node" },
};

const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
await producer.connect();
await producer.send({ topic: `${PREFIX}events`, messages: [{ key: to, value: JSON.stringify(event) }] });
await producer.disconnect();
console.log(`scheduled ${id}`);
