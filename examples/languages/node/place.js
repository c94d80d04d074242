// Where lightsched's topics are, and who shares the work.

import { Kafka, logLevel } from "kafkajs";

export const PREFIX = process.env.PREFIX ?? "lightsched.";
export const GROUP = process.env.GROUP ?? "mailer";

export const kafka = new Kafka({
  clientId: "mailer",
  brokers: [process.env.KAFKA ?? "127.0.0.1:9092"],
  logLevel: logLevel.ERROR,
});
