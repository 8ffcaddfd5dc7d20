package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// events reads the events of a stream until one contains the text; with an empty text until the
// stream ends.
func events(t *testing.T, stream wire.Control_EventsClient, text string) (list []journal.Event) {
	t.Helper()
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) && text == "" {
			return list
		}
		if err != nil {
			t.Fatalf("no event says %q: %v in %v", text, err, list)
		}
		var more []journal.Event
		if err := json.Unmarshal(reply.Json, &more); err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
		for _, e := range more {
			if text != "" && strings.Contains(e.Text, text) {
				return list
			}
		}
	}
}

// A follower hears of a loss as it happens; a later one gets the same events, and after a restart
// of the coordinator those of the new one.
func TestEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	makeShards(t, dir, 0, 1, 2, 3, 4)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	following, err := s.client.Events(ctx, &wire.EventsRequest{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	connect(t, s, "a", -1)
	b := connect(t, s, "b", -1)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	s.await("training", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step >= 2 })
	list := events(t, following, "makes step 1")
	b.kill()
	list = append(list, events(t, following, "worker b")...)
	for i, e := range list {
		if e.Number != uint64(i+1) || e.Start != list[0].Start {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if e := list[0]; e.Topic != journal.Coordinator || !strings.Contains(e.Text, "this coordinator is") {
		t.Errorf("the first event is %+v", e)
	}
	last := list[len(list)-1]
	once, err := s.client.Events(ctx, &wire.EventsRequest{Start: last.Start, After: last.Number - 1})
	if err != nil {
		t.Fatal(err)
	}
	if again := events(t, once, ""); len(again) == 0 || again[0] != last {
		t.Errorf("after event %d: %+v, want %+v", last.Number-1, again, last)
	}
	s.close()
	for ended := false; !ended; { // after the events that were under way
		_, err := following.Recv()
		ended = status.Code(err) != codes.OK
	}
	s = start(t, dir)
	if once, err = s.client.Events(ctx, &wire.EventsRequest{Start: last.Start, After: last.Number}); err != nil {
		t.Fatal(err)
	}
	if fresh := events(t, once, ""); len(fresh) == 0 || fresh[0].Number != 1 || fresh[0].Start == last.Start {
		t.Errorf("after the restart: %+v", fresh)
	}
}
