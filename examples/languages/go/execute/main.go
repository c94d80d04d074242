// Sends the mails that are due, and reports what came of them.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

var prefix = cmp.Or(os.Getenv("PREFIX"), "lightsched.")

type report struct {
	Delivery string `json:"delivery"`
	Token    string `json:"token"`
	Status   string `json:"status"`
	Executor string `json:"executor"`
	Result   any    `json:"result,omitempty"`
	Error    string `json:"error,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cmp.Or(os.Getenv("KAFKA"), "127.0.0.1:9092")),
		kgo.ConsumerGroup(cmp.Or(os.Getenv("GROUP"), "mailer")),
		kgo.ConsumeTopics(prefix+"deliveries"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // an aborted delivery never happened
		kgo.DisableAutoCommit(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), // a report goes to the partition that its delivery names
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for ctx.Err() == nil {
		if err := work(ctx, client); err != nil && !errors.Is(err, context.Canceled) {
			log.Fatal(err)
		}
	}
	fmt.Println("stopped")
}

// work reads what has come, acts, reports, and only then commits: a crash repeats a delivery, and loses none.
func work(ctx context.Context, client *kgo.Client) error {
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	var reports []*kgo.Record
	for delivery := range fetches.RecordsAll() {
		headers := headersOf(delivery)
		if headers["ce_type"] != "mail.send" {
			continue // others have executors of their own
		}
		partition, err := strconv.ParseInt(headers["ls_partition"], 10, 32)
		if err != nil {
			return err
		}
		value, err := json.Marshal(outcome(delivery, headers))
		if err != nil {
			return err
		}
		reports = append(reports, &kgo.Record{
			Topic: prefix + "reports", Partition: int32(partition), Key: delivery.Key, Value: value,
		})
	}
	// What was done is reported even while stopping.
	if err := client.ProduceSync(context.WithoutCancel(ctx), reports...).FirstErr(); err != nil {
		return err
	}
	return client.CommitUncommittedOffsets(context.WithoutCancel(ctx))
}

func outcome(delivery *kgo.Record, headers map[string]string) report {
	answer := report{Delivery: headers["ce_id"], Token: headers["ls_report"], Executor: "go"}
	result, err := send(delivery, headers)
	if err != nil {
		answer.Status, answer.Error = "RETRIABLE_FAILURE", err.Error()
	} else {
		answer.Status, answer.Result = "SUCCESS", result
	}
	return answer
}

// send does the work. It may see a delivery twice, with the same ce_id: real work goes by that.
func send(delivery *kgo.Record, headers map[string]string) (any, error) {
	fmt.Printf("%s due %s: %s\n", headers["ce_id"], headers["ce_time"], delivery.Value)
	var mail struct{ To, Text string }
	if err := json.Unmarshal(delivery.Value, &mail); err != nil {
		return nil, err
	}
	if mail.To == "" {
		return nil, errors.New("a mail needs an address")
	}
	return map[string]string{"sent_to": mail.To}, nil
}

func headersOf(record *kgo.Record) map[string]string {
	headers := make(map[string]string, len(record.Headers))
	for _, header := range record.Headers {
		headers[header.Key] = string(header.Value)
	}
	return headers
}
