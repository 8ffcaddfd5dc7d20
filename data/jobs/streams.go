package jobs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a server of NATS refuses that somebody has to set up.
var (
	// ErrDenied: a server does not know the user, or its account has no such permission.
	ErrDenied = errors.New("the NATS server refuses this to its user")
	// ErrNoJetStream: nobody answers for JetStream.
	ErrNoJetStream = errors.New("no JetStream answers")
	// ErrLimit: the account, or the servers, have no room for a stream.
	ErrLimit = errors.New("a limit of the NATS account or server is reached")
	// ErrReplicas: a stream is to be on more servers than there are.
	ErrReplicas = errors.New("too few NATS servers for the replicas")
)

// ErrAbsent: a server of the cluster that a stream needs is away, or has just started and the
// others have not heard from it. This passes when it is back.
var ErrAbsent = errors.New("a NATS server that the replicas need is away")

// MakeStream makes a stream, or changes the one that is there where it is not as wanted. Of the
// settings that are zero it keeps those that the stream's owner has chosen, such as its placement,
// its limits and the number of its replicas.
func MakeStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	err := makeStream(ctx, js, want)
	if err == nil {
		return nil
	}
	api := API(js.Options().Domain)
	return fmt.Errorf("stream %s: %w", want.Name, Judge(js.Conn(), err,
		api+"STREAM.INFO."+want.Name, api+"STREAM.CREATE."+want.Name, api+"STREAM.UPDATE."+want.Name))
}

// API begins the subjects on which JetStream of a domain takes requests.
func API(domain string) string {
	if domain == "" {
		return jetstream.DefaultAPIPrefix
	}
	return "$JS." + domain + ".API."
}

func makeStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, want)
		return err
	}
	if err != nil {
		return err
	}
	has := stream.CachedInfo().Config
	changed := has
	to, from := reflect.ValueOf(&changed).Elem(), reflect.ValueOf(want)
	for i := range from.NumField() {
		// The storage of a stream cannot change.
		if name := from.Type().Field(i).Name; name != "Storage" && !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	if reflect.DeepEqual(has, changed) {
		return nil
	}
	_, err = js.UpdateStream(ctx, changed)
	return err
}

// Judge says what an error means that the setup of a server causes, and returns others as they are.
// A server does not answer a request that the user may not make: it complains beside that, and
// names the request's subject.
func Judge(conn *nats.Conn, err error, subjects ...string) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
		complaint := conn.LastError()
		if errors.Is(complaint, nats.ErrPermissionViolation) && slices.ContainsFunc(subjects, func(subject string) bool {
			return strings.Contains(complaint.Error(), `"`+subject+`"`)
		}) {
			return fmt.Errorf("%w: %w", ErrDenied, complaint)
		}
		return err
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	}
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	switch refused.ErrorCode {
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	case tooManyConsumers, tooManyStreams, accountExceeded, insufficientResources, memoryExceeded, storageExceeded, maxBytesRequired, noLimits, maxBytesExceeded:
		return fmt.Errorf("%w: %w", ErrLimit, err)
	case noPeers:
		// The reasons of nats-server's selectPeerError. A cluster that is too small has none of them.
		if strings.Contains(refused.Description, "peer offline") || strings.Contains(refused.Description, "miscellaneous issue") {
			return fmt.Errorf("%w: %w", ErrAbsent, err)
		}
		return fmt.Errorf("%w: %w", ErrReplicas, err)
	case notClustered:
		return fmt.Errorf("%w: %w", ErrReplicas, err)
	}
	return err
}

// Error codes of nats-server (server/errors.json) without names in nats.go.
const (
	accountExceeded       = 10002
	noPeers               = 10005
	insufficientResources = 10023
	tooManyConsumers      = 10026
	tooManyStreams        = 10027
	memoryExceeded        = 10028
	storageExceeded       = 10047
	notClustered          = 10074
	maxBytesRequired      = 10113
	noLimits              = 10120
	maxBytesExceeded      = 10122
)
