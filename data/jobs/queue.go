package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
)

// Job is an order to make one shard.
type Job struct {
	Run     string          `json:"run"` // letters, digits, '-' and '_'
	Shard   int             `json:"shard"`
	Dataset json.RawMessage `json:"dataset"` // its description
}

// Result is the outcome of one attempt at a job.
type Result struct {
	Run     string  `json:"run"`
	Shard   int     `json:"shard"`
	Worker  string  `json:"worker"`
	Seconds float64 `json:"seconds"`
	Attempt int     `json:"attempt"`         // counts from 1
	Error   string  `json:"error,omitempty"` // empty if the shard is made
	Dead    bool    `json:"dead,omitempty"`  // the job has no further attempts
}

const (
	jobsStream    = "ERGOFLOW_JOBS"
	resultsStream = "ERGOFLOW_RESULTS"
	maxMessage    = 64 << 10 // bytes
	maxDataset    = maxMessage - 1<<10
	resultsKept   = 7 * 24 * time.Hour
	publishers    = 32 // publications under way at a time
)

// options are the settings that tests shorten.
type options struct {
	ackWait    time.Duration // silence after which the server redelivers a job; workers report five times as often
	maxDeliver int           // deliveries before a job becomes a dead letter
	retryDelay time.Duration // before the second attempt; attempt n + 1 waits n times as long
	timeout    time.Duration // of one request to the server
	parting    time.Duration // of the last requests of a worker that is to stop
	storage    jetstream.StorageType
	replicas   int // of the streams; 0: as they are
}

var defaults = options{ackWait: 5 * time.Second, maxDeliver: 5, retryDelay: time.Second, timeout: 10 * time.Second, parting: time.Second}

// Queue is a connection to the job queue. It reconnects by itself until Close
// and is safe for concurrent use.
type Queue struct {
	options
	conn *nats.Conn
	js   jetstream.JetStream
}

func (q *Queue) makeStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	for _, config := range []jetstream.StreamConfig{{
		Name:       jobsStream,
		Subjects:   []string{subject("jobs", "*", "*")},
		Retention:  jetstream.WorkQueuePolicy,
		MaxMsgSize: maxMessage,
	}, {
		Name:              resultsStream,
		Subjects:          []string{subject("done", "*", "*"), subject("failed", "*", "*"), subject("dead", "*", "*"), subject("returned", "*", "*")},
		MaxMsgsPerSubject: 1,
		MaxAge:            resultsKept,
		MaxMsgSize:        maxMessage,
	}} {
		config.Storage, config.Replicas = q.storage, q.replicas
		if err := MakeStream(ctx, q.js, config); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the connection; Work and Results end with it.
func (q *Queue) Close() { q.conn.Close() }

func subject(kind, run, shard string) string { return "ergoflow." + kind + "." + run + "." + shard }

func (j Job) subject(kind string) string { return subject(kind, j.Run, strconv.Itoa(j.Shard)) }

// Validate refuses a job whose run name cannot be part of a subject, or whose shard
// number or data set description is too large.
func (j Job) Validate() error {
	if j.Shard < 0 || j.Shard > ergoflow.MaxShards {
		return fmt.Errorf("job for shard %d", j.Shard)
	}
	if size := len(j.Dataset); size > maxDataset {
		return fmt.Errorf("run %.32s: the description of the data has %d bytes, more than %d", j.Run, size, maxDataset)
	}
	return checkRun(j.Run)
}

// checkRun keeps wildcards and separators out of subjects and consumer names.
func checkRun(run string) error {
	if run == "" || len(run) > 128 {
		return fmt.Errorf("run %q: want a name of 1 to 128 characters", run)
	}
	for _, r := range run {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return fmt.Errorf("run %q: want letters, digits, '-' and '_'", run)
		}
	}
	return nil
}

// Publish puts jobs into the queue. It leaves a job that waits there or that a worker
// has. A job that was done, or is a dead letter, gets new attempts. After an error some
// of the jobs may be in the queue: publish again.
func (q *Queue) Publish(ctx context.Context, jobs []Job) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(publishers)
	for _, job := range jobs {
		group.Go(func() error {
			if err := q.publish(ctx, job); err != nil {
				return fmt.Errorf("publish the job for shard %d: %w", job.Shard, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (q *Queue) publish(ctx context.Context, job Job) error {
	if err := job.Validate(); err != nil {
		return err
	}
	message, err := json.Marshal(job)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	_, err = q.publishAfter(ctx, job.subject("jobs"), message, 0) // 0: no message with this subject is in the stream
	return Judge(q.conn, err, job.subject("jobs"))
}

// publishAfter publishes a message if the last one of its subject has a sequence.
func (q *Queue) publishAfter(ctx context.Context, subject string, message []byte, sequence uint64) (published bool, err error) {
	_, err = q.js.Publish(ctx, subject, message, jetstream.WithExpectLastSequencePerSubject(sequence))
	var refused *jetstream.APIError
	if errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return false, nil
	}
	return err == nil, err
}
