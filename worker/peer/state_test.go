package peer

import (
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/worker/replica"
	"github.com/ergoflow/ergoflow/worker/replica/replicatest"
)

// A worker fetches the state with the mark that it asks for, and no other.
func TestFetchState(t *testing.T) {
	member, own := replicatest.Open(t), replicatest.Open(t)
	replicatest.Advance(t, member, 3, 5)
	mark, _ := member.Mark()
	st, err := FetchState(t.Context(), plain, served(t, member), own, mark, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Load(st, mark.Generation); err != nil {
		t.Fatal(err)
	}
	want, _ := encoded(t, member)
	if got, g := encoded(t, own); got != want || g != mark.Generation {
		t.Error("the states differ")
	}

	for name, peer := range map[string]func() *replica.Replica{
		"another state": func() *replica.Replica { return member },
		"no replica":    func() *replica.Replica { return nil },
	} {
		other := ergoflow.Mark{Generation: mark.Generation, Step: mark.Step - 1}
		_, err := FetchState(t.Context(), plain, serve(t, &Server{Replica: peer}), own, other, slog.New(slog.DiscardHandler))
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: error %v, want FailedPrecondition", name, err)
		}
	}
}
