package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/jobs"
)

// stream is a Store in a stream of JetStream, in files. A message is a chunk of an object, or
// the record that commits it:
//
//	ergoflow.store.<bucket>.chunk.<id>.<i>    bytes
//	ergoflow.store.<bucket>.key.<parts>       a record as JSON; <parts> encodes the key
//
// Every put has an id of its own. The stream takes one message of a subject, so one put alone
// commits a key, and nobody changes what is there. A message is read by its subject: a consumer
// would send to any subject that its maker names, so workers may not make any.
type stream struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	api      string // begins the subjects of its requests
	name     string // of the stream
	prefix   string // of the subjects
	location Location
}

// record commits an object.
type record struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
	Chunk int64  `json:"chunk"` // bytes of each but the last
}

const (
	chunkBytes  = 256 << 10
	maxChunk    = 8 << 20 // bytes; a server has at most 64 MiB
	chunksAhead = 8       // of one put at a time
	natsTimeout = 10 * time.Second
)

// streamOf names the stream of a bucket, and the prefix of its subjects.
func streamOf(bucket string) (name, prefix string) {
	return "ERGOFLOW_STORE_" + bucket, "ergoflow.store." + bucket
}

// WorkerSubjects are those on which a worker publishes that uses a bucket of NATS: it puts and
// reads, and can neither list nor delete.
func WorkerSubjects(bucket string) []string {
	name, prefix := streamOf(bucket)
	return []string{prefix + ".chunk.*.*", prefix + ".key.>", "$JS.API.DIRECT.GET." + name, "$JS.API.STREAM.MSG.GET." + name}
}

// openNATS connects to the server of a location.
func openNATS(ctx context.Context, l Location, o Options) (*stream, error) {
	conn, err := jobs.Dial(l.Server, o.Access, nats.RetryOnFailedConnect(o.Wait), nats.Timeout(natsTimeout))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Public(), err)
	}
	s := &stream{conn: conn, api: jobs.API(l.Domain), location: l}
	s.name, s.prefix = streamOf(l.Bucket)
	o.Access.Domain = l.Domain
	if s.js, err = o.Access.JetStream(conn); err == nil && o.Create {
		err = s.create(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", l.Public(), err)
	}
	return s, nil
}

func (s *stream) create(ctx context.Context) error {
	if most := s.conn.MaxPayload(); most < chunkBytes+recordRoom {
		return fmt.Errorf("the server takes messages of %d bytes: set its max_payload to %d or more", most, chunkBytes+recordRoom)
	}
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	return jobs.MakeStream(ctx, s.js, jetstream.StreamConfig{
		Name:                 s.name,
		Subjects:             []string{s.prefix + ".chunk.*.*", s.prefix + ".key.>"},
		Storage:              jetstream.FileStorage,
		Replicas:             s.location.Replicas,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    1,
		AllowDirect:          true,
	})
}

// recordRoom is more than headers take, and a record.
const recordRoom = 4 << 10

func (s *stream) String() string { return s.location.Public() }

func (s *stream) Close() error {
	s.conn.Close()
	return nil
}

// keySubject is the subject of a key. A part may have dots, which separate words of a subject.
func (s *stream) keySubject(key string) string {
	parts := strings.Split(key, "/")
	for i, part := range parts {
		parts[i] = base64.RawURLEncoding.EncodeToString([]byte(part))
	}
	return s.prefix + ".key." + strings.Join(parts, ".")
}

// keyOf is the key of a subject that keySubject made; others have none.
func (s *stream) keyOf(subject string) (key string, ok bool) {
	words, ok := strings.CutPrefix(subject, s.prefix+".key.")
	parts := strings.Split(words, ".")
	for i, word := range parts {
		part, err := base64.RawURLEncoding.DecodeString(word)
		if err != nil {
			return "", false
		}
		parts[i] = string(part)
	}
	key = strings.Join(parts, "/")
	return key, ok && CheckKey(key) == nil
}

func (s *stream) chunkSubject(id string, i int64) string {
	return s.prefix + ".chunk." + id + "." + strconv.FormatInt(i, 10)
}

// ask makes a request, each attempt within natsTimeout.
func (s *stream) ask(ctx context.Context, key string, do func(context.Context) error) error {
	err := retry(ctx, natsPasses, func() error {
		attempt, cancel := context.WithTimeout(ctx, natsTimeout)
		defer cancel()
		return do(attempt)
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", key, s, natsJudged(err))
}

// denied says where a request fails because the user may not make it. Others pass.
func (s *stream) denied(err error, subjects ...string) error {
	if judged := jobs.Judge(s.conn, err, subjects...); errors.Is(judged, jobs.ErrDenied) {
		return judged
	}
	return err
}

// natsPasses: an answer of the server counts, silence does not.
func natsPasses(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if ok {
		judged := natsJudged(err)
		return refused.Code == http.StatusServiceUnavailable && !errors.Is(judged, ErrFull) && !errors.Is(judged, ErrExists) // no leader, say
	}
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected)
}

// natsJudged says what an answer means.
func natsJudged(err error) error {
	if errors.Is(err, jobs.ErrDenied) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	switch {
	case refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence, refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant,
		strings.Contains(refused.Description, "maximum messages per subject"):
		return ErrExists
	case refused.ErrorCode == insufficientResources, refused.ErrorCode == storageExceeded, refused.ErrorCode == accountExceeded,
		strings.Contains(refused.Description, "maximum bytes"), strings.Contains(refused.Description, "no space left"):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Error codes of nats-server without names in nats.go.
const (
	accountExceeded       = 10002
	insufficientResources = 10023
	storageExceeded       = 10047
)

// publish publishes a message unless its subject has one.
func (s *stream) publish(ctx context.Context, key, subject string, message []byte) error {
	return s.ask(ctx, key, func(ctx context.Context) error {
		_, err := s.js.Publish(ctx, subject, message, jetstream.WithExpectLastSequencePerSubject(0))
		return s.denied(err, subject)
	})
}

func (s *stream) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if err := checkPut(key, size); err != nil {
		return err
	}
	if _, err := s.record(ctx, key); err == nil {
		return fmt.Errorf("%s in %s: %w", key, s, ErrExists)
	}
	made := record{ID: nuid.Next(), Bytes: size, Chunk: chunkBytes}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(chunksAhead)
	for i := range made.chunks() {
		group.Go(func() error {
			chunk := make([]byte, made.length(i))
			if _, err := content.ReadAt(chunk, i*made.Chunk); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			err := s.publish(groupCtx, key, s.chunkSubject(made.ID, i), chunk)
			if errors.Is(err, ErrExists) { // an attempt whose answer was lost
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err // Sweep removes the chunks
	}
	message, err := json.Marshal(made)
	if err != nil {
		return err
	}
	err = s.publish(ctx, key, s.keySubject(key), message)
	if errors.Is(err, ErrExists) {
		if there, get := s.record(ctx, key); get == nil && there.ID == made.ID {
			return nil // an attempt whose answer was lost
		}
	}
	return err
}

func (r record) chunks() int64 { return (r.Bytes + r.Chunk - 1) / r.Chunk }

// length is that of chunk i.
func (r record) length(i int64) int64 { return min(r.Chunk, r.Bytes-i*r.Chunk) }

// dated is a record and when it was made.
type dated struct {
	record
	made time.Time
}

// record reads the record of a key.
func (s *stream) record(ctx context.Context, key string) (dated, error) {
	var d dated
	err := s.ask(ctx, key, func(ctx context.Context) error {
		message, made, err := s.last(ctx, s.keySubject(key))
		if err != nil {
			return err
		}
		d.made = made
		return json.Unmarshal(message, &d.record)
	})
	if err == nil && (!isPlain(d.ID) || d.ID == "" || len(d.ID) > 64 || strings.Contains(d.ID, ".") || d.Bytes < 0 || d.Bytes > MaxBytes || d.Chunk < 1 || d.Chunk > maxChunk) {
		return d, fmt.Errorf("%s in %s: its record is damaged: %+v", key, s, d.record)
	}
	return d, err
}

// last reads the message of a subject. Any replica answers first. One that lags may not have the
// message yet, so only the stream's leader says that there is none.
func (s *stream) last(ctx context.Context, subject string) (message []byte, made time.Time, err error) {
	ask, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, made, err
	}
	direct, leader := s.api+"DIRECT.GET."+s.name, s.api+"STREAM.MSG.GET."+s.name
	answer, err := s.conn.RequestWithContext(ctx, direct, ask)
	if err == nil && answer.Header.Get("Nats-Subject") == subject {
		made, err = time.Parse(time.RFC3339Nano, answer.Header.Get("Nats-Time-Stamp"))
		return answer.Data, made, err
	}
	if err != nil && !errors.Is(err, nats.ErrNoResponders) {
		return nil, made, s.denied(err, direct)
	}
	if answer, err = s.conn.RequestWithContext(ctx, leader, ask); err != nil {
		return nil, made, s.denied(err, leader)
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Data []byte    `json:"data"`
			Time time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return nil, made, err
	}
	switch {
	case got.Error == nil:
		return got.Message.Data, got.Message.Time, nil
	case got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, made, ErrNotFound
	}
	return nil, made, got.Error
}

func (s *stream) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkGet(key, offset, length); err != nil {
		return nil, err
	}
	d, err := s.record(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset+length > d.Bytes {
		return nil, fmt.Errorf("%s in %s: %w: it has %d, not %d", key, s, ErrRange, d.Bytes, offset+length)
	}
	return &chunks{ctx: ctx, stream: s, key: key, record: d.record, at: offset, end: offset + length}, nil
}

// chunks reads an object chunk by chunk.
type chunks struct {
	ctx context.Context // of Get
	*stream
	key string
	record
	at, end int64
	rest    bytes.Reader // of the chunk that at is in
}

func (c *chunks) Read(b []byte) (int, error) {
	if c.at == c.end {
		return 0, io.EOF
	}
	if c.rest.Len() == 0 {
		i := c.at / c.Chunk
		var chunk []byte
		err := c.ask(c.ctx, c.key, func(ctx context.Context) (err error) {
			chunk, _, err = c.last(ctx, c.chunkSubject(c.ID, i))
			return err
		})
		if err != nil {
			return 0, err
		}
		if int64(len(chunk)) != c.length(i) {
			return 0, fmt.Errorf("%s in %s: %w: chunk %d has %d bytes, want %d", c.key, c.stream, io.ErrUnexpectedEOF, i, len(chunk), c.length(i))
		}
		c.rest.Reset(chunk[c.at-i*c.Chunk:])
	}
	n, err := c.rest.Read(b[:min(int64(len(b)), c.end-c.at)])
	c.at += int64(n)
	return n, err
}

func (*chunks) Close() error { return nil }

func (s *stream) Stat(ctx context.Context, key string) (Object, error) {
	if err := CheckKey(key); err != nil {
		return Object{}, err
	}
	d, err := s.record(ctx, key)
	return Object{key, d.Bytes, d.made}, err
}
