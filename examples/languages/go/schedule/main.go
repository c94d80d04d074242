// Schedules a mail for two seconds from now: schedule ID ADDRESS.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: schedule ID ADDRESS")
	}
	id, to := os.Args[1], os.Args[2]
	event, err := json.Marshal(map[string]any{
		"id":      id,
		"key":     to, // mails to one address keep their order
		"type":    "mail.send",
		"in":      "2s",
		"retry":   map[string]any{"delays": []string{"1s"}}, // so that it is tracked: executors report
		"payload": map[string]string{"to": to, "text": "Hello from Go"},
	})
	if err != nil {
		log.Fatal(err)
	}

	client, err := kgo.NewClient(kgo.SeedBrokers(cmp.Or(os.Getenv("KAFKA"), "127.0.0.1:9092")))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	record := &kgo.Record{
		Topic: cmp.Or(os.Getenv("PREFIX"), "lightsched.") + "events",
		Key:   []byte(to),
		Value: event,
	}
	if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("scheduled", id)
}
