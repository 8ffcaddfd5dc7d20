package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// dump answers an order to dump.
func (f *fake) dump(ctx context.Context, order *wire.Dump) {
	encoded, err := f.flight.Dump(order.Occasion).Encode()
	if err != nil {
		f.t.Error(err)
	}
	err = saveFlight(ctx, f.client, &wire.FlightHeader{Worker: f.id, Number: order.Number, Size: int64(len(encoded))}, encoded)
	if err != nil && ctx.Err() == nil {
		f.t.Errorf("%s: its dump is not taken: %v", f.id, err)
	}
}

// dumping is a worker that answers orders to dump.
func dumping(t *testing.T, s *server, id string) *fake {
	t.Helper()
	f := connect(t, s, id, -1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flight = flight.New(flight.Worker)
	f.flight.Name(ergoflow.WorkerID(id))
	return f
}

func saveFlight(ctx context.Context, client wire.ControlClient, h *wire.FlightHeader, parts ...[]byte) error {
	stream, err := client.SaveFlight(ctx)
	if err != nil {
		return err
	}
	if h != nil {
		err = stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Header{Header: h}})
	}
	for _, part := range parts {
		if err == nil {
			err = stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Data{Data: part}})
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = stream.CloseAndRecv()
	return err
}

// flights are the dumps that the coordinator returns, by worker; its own has no name.
func (s *server) flights() map[string]*flight.Dump {
	s.t.Helper()
	stream, err := s.client.Flights(s.t.Context(), &wire.FlightsRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	encoded, name := make(map[string][]byte), ""
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if h := part.GetHeader(); h != nil {
			name = h.Worker
		}
		encoded[name] = append(encoded[name], part.GetData()...)
	}
	dumps := make(map[string]*flight.Dump)
	for name, b := range encoded {
		if dumps[name], err = flight.Read(bytes.NewReader(b)); err != nil {
			s.t.Fatalf("the dump of %q: %v", name, err)
		}
	}
	return dumps
}

// of are the records of a kind.
func of(d *flight.Dump, kind flight.Kind) (found []flight.Record) {
	for _, e := range d.Records {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// A request gets the dumps of the workers that answer, and the coordinator's own names those that
// do not. It changes nothing: none is stored.
func TestFlights(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	if got := s.flights(); len(got) != 1 || len(of(got[""], flight.NoAnswer)) != 0 {
		t.Errorf("without workers: %v", got)
	}
	dumping(t, s, "new")
	connect(t, s, "old", -1)
	s.await("two workers", func(st Status) bool { return len(st.Workers) == 2 })
	got := s.flights()
	if len(got) != 2 || got["new"] == nil || got["new"].Header.Process.ID != "new" {
		t.Fatalf("dumps of %v", got)
	}
	silent, sessions := of(got[""], flight.NoAnswer), of(got[""], flight.Session)
	if len(silent) != 1 || silent[0].Worker != "old" || len(sessions) != 2 {
		t.Errorf("no answer of %+v, sessions %+v", silent, sessions)
	}
	if files, err := flight.Store(FlightPath(s.dir)).Files(100); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// When a worker is lost, the coordinator stores its dump, and has the others send theirs: once,
// however many complain.
func TestIncident(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	lost := connect(t, s, "lost", -1)
	dumping(t, s, "other")
	s.await("two workers", func(st Status) bool { return len(st.Workers) == 2 })
	for range 20 {
		lost.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Run: plan.Run, Reason: "a reason"}}})
	}
	lost.kill()
	store := flight.Store(FlightPath(s.dir))
	files := func() []string {
		list, err := store.Files(100)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return list
	}
	s.await("two dumps", func(Status) bool { return len(files()) == 2 })
	for _, path := range files() {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := flight.Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if d.Header.Process.Role != flight.Coordinator {
			continue
		}
		if gone := of(d, flight.Lost); len(gone) != 1 || gone[0].Worker != "lost" || gone[0].PID != 7 {
			t.Errorf("lost: %+v", gone)
		}
		if unfit := of(d, flight.Unfit); len(unfit) == 0 {
			t.Error("no complaint is recorded")
		}
	}
}

// A coordinator that finds the addresses of another one records that this did not end in order.
func TestUnclean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	addresses, err := os.ReadFile(filepath.Join(dir, addressesFile))
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	s = start(t, dir)
	if found := of(s.flights()[""], flight.Unclean); len(found) != 0 {
		t.Errorf("after one that ended in order: %+v", found)
	}
	s.close()
	if err := os.WriteFile(filepath.Join(dir, addressesFile), addresses, 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	if found := of(s.flights()[""], flight.Unclean); len(found) != 1 || found[0].PID != os.Getpid() {
		t.Errorf("after one that was killed: %+v", found)
	}
}

// A dump is taken from workers with a session, and of the announced size.
func TestRefusedDumps(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	f := connect(t, s, "w", -1)
	s.await("a worker", func(st Status) bool { return len(st.Workers) == 1 })
	r := flight.New(flight.Worker)
	r.Name("w")
	whole, err := r.Dump("test").Encode()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(whole))
	other := flight.New(flight.Worker)
	other.Name("v")
	foreign, err := other.Dump("test").Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		header *wire.FlightHeader
		parts  [][]byte
		want   codes.Code
	}{
		"whole":                   {&wire.FlightHeader{Worker: "w", Size: size}, [][]byte{whole}, codes.OK},
		"in parts":                {&wire.FlightHeader{Worker: "w", Size: size}, [][]byte{whole[:9], whole[9:]}, codes.OK},
		"of an unknown request":   {&wire.FlightHeader{Worker: "w", Number: 99, Size: size}, [][]byte{whole}, codes.OK},
		"no header":               {nil, [][]byte{whole}, codes.FailedPrecondition},
		"of a stranger":           {&wire.FlightHeader{Worker: "stranger", Size: size}, [][]byte{whole}, codes.FailedPrecondition},
		"of another":              {&wire.FlightHeader{Worker: "w", Size: int64(len(foreign))}, [][]byte{foreign}, codes.InvalidArgument},
		"no size":                 {&wire.FlightHeader{Worker: "w"}, [][]byte{whole}, codes.InvalidArgument},
		"a negative size":         {&wire.FlightHeader{Worker: "w", Size: -1}, nil, codes.InvalidArgument},
		"too large":               {&wire.FlightHeader{Worker: "w", Size: flight.MaxDump + 1}, nil, codes.InvalidArgument},
		"more than was announced": {&wire.FlightHeader{Worker: "w", Size: 9}, [][]byte{whole}, codes.InvalidArgument},
		"an empty part":           {&wire.FlightHeader{Worker: "w", Size: size}, [][]byte{nil}, codes.InvalidArgument},
		"no dump":                 {&wire.FlightHeader{Worker: "w", Size: 5}, [][]byte{[]byte("hello")}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			if err := saveFlight(t.Context(), f.client, c.header, c.parts...); status.Code(err) != c.want {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	files, err := flight.Store(FlightPath(s.dir)).Files(100)
	if err != nil || len(files) != 1 { // the same dump has the same name
		t.Errorf("files %v, %v", files, err)
	}
}

// A flood of dumps is refused beyond a bound.
func TestFloodOfDumps(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	f := connect(t, s, "w", -1)
	s.await("a worker", func(st Status) bool { return len(st.Workers) == 1 })
	refused := 0
	for i := range 2 * maxBurst {
		err := saveFlight(t.Context(), f.client, &wire.FlightHeader{Worker: "w", Size: 5}, fmt.Appendf(nil, "%05d", i))
		if status.Code(err) == codes.ResourceExhausted {
			refused++
		}
	}
	if refused == 0 {
		t.Errorf("%d dumps at once, and none was refused", 2*maxBurst)
	}
}

// What package explain looks for in the machine's texts is in its traces.
func TestTextsThatExplainKnows(t *testing.T) {
	traces, err := filepath.Glob("machine/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, trace := range traces {
		b, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, said := range []string{flight.SaysSilent, flight.SaysReopened} {
		if !regexp.MustCompile(`(?m)^    lost \S+: ` + said).MatchString(all.String()) {
			t.Errorf("no worker is lost because of %q", said)
		}
	}
}
