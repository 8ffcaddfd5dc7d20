package coordinator

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// office is a gRPC service that this process has only while it leads: calls go to the present
// server, of type S, which is another one in each term.
type office[S any] struct {
	mu     sync.Mutex
	server *S            // nil: there is none
	opened chan struct{} // closed when there is one
}

func newOffice[S any]() *office[S] { return &office[S]{opened: make(chan struct{})} }

// open lets calls in. The function that it returns ends that.
func (o *office[S]) open(s S) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.server = &s
	close(o.opened)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.server, o.opened = nil, make(chan struct{})
	}
}

// now is the present server. Where there is none, the channel is closed when there is.
func (o *office[S]) now() (s S, ok bool, opened <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.server != nil {
		return *o.server, true, nil
	}
	return s, false, o.opened
}

// vacancy answers calls while there is no server: by an error, or by nil once opened is closed.
type vacancy func(ctx context.Context, opened <-chan struct{}) error

// registrar registers services at a gRPC server so that calls reach the office's server. A call
// that is one request and one answer is confirmed before.
func (o *office[S]) registrar(at *grpc.Server, v vacancy, confirm func() error) grpc.ServiceRegistrar {
	return registrar[S]{o, at, v, confirm}
}

type registrar[S any] struct {
	office  *office[S]
	at      *grpc.Server
	vacancy vacancy
	confirm func() error
}

// server is the one that a call is for.
func (r registrar[S]) server(ctx context.Context) (S, error) {
	for {
		s, ok, opened := r.office.now()
		if ok {
			return s, nil
		}
		if err := r.vacancy(ctx, opened); err != nil {
			return s, err
		}
	}
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar[S]) RegisterService(d *grpc.ServiceDesc, _ any) {
	own := *d
	own.Methods, own.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i, m := range d.Methods {
		own.Methods[i].Handler = func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			s, err := r.server(ctx)
			if err != nil {
				return nil, err
			}
			if err := r.confirm(); err != nil {
				return nil, err
			}
			return m.Handler(s, ctx, decode, intercept)
		}
	}
	for i, m := range d.Streams {
		own.Streams[i].Handler = func(_ any, stream grpc.ServerStream) error {
			s, err := r.server(stream.Context())
			if err != nil {
				return err
			}
			return m.Handler(s, stream)
		}
	}
	r.at.RegisterService(&own, nil)
}
