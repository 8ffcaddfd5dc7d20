package coordinator

import (
	"context"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
)

// office is a gRPC service that this process has only while it leads: calls go to the present
// server, of type S, which is another one in each term.
type office[S any] struct{ server atomic.Pointer[S] }

// open lets calls in. The function that it returns ends that.
func (o *office[S]) open(s S) (end func()) {
	o.server.Store(&s)
	return func() { o.server.Store(nil) }
}

// now is the present server.
func (o *office[S]) now() (s S, ok bool) {
	if p := o.server.Load(); p != nil {
		return *p, true
	}
	return s, false
}

// registrar registers services at a gRPC server so that calls reach the office's server. Where
// there is none they get the error of elsewhere.
func (o *office[S]) registrar(at *grpc.Server, elsewhere func() error) grpc.ServiceRegistrar {
	return registrar[S]{o, at, elsewhere}
}

type registrar[S any] struct {
	office    *office[S]
	at        *grpc.Server
	elsewhere func() error
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar[S]) RegisterService(d *grpc.ServiceDesc, _ any) {
	own := *d
	own.Methods, own.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i, m := range d.Methods {
		own.Methods[i].Handler = func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			s, ok := r.office.now()
			if !ok {
				return nil, r.elsewhere()
			}
			return m.Handler(s, ctx, decode, intercept)
		}
	}
	for i, m := range d.Streams {
		own.Streams[i].Handler = func(_ any, stream grpc.ServerStream) error {
			s, ok := r.office.now()
			if !ok {
				return r.elsewhere()
			}
			return m.Handler(s, stream)
		}
	}
	r.at.RegisterService(&own, nil)
}
