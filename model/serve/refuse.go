package serve

import (
	"fmt"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// Of requests that are not admitted this many a second are told so, after a burst. Others are told
// to ask later, over another connection. Requests with the token never wait: a stranger who
// tries tokens keeps nobody from the server.
const (
	refusalRate  = 5
	refusalBurst = 50
)

// refusals counts requests that are not admitted.
type refusals struct {
	limit  *rate.Limiter
	logged rate.Sometimes
}

func newRefusals() *refusals {
	return &refusals{limit: rate.NewLimiter(refusalRate, refusalBurst), logged: rate.Sometimes{First: 1, Interval: time.Minute}}
}

// refuse is the answer to a request that is not admitted, whose problem is p; it logs one a
// minute.
func (s *Server) refuse(from string, p *Problem) *Problem {
	s.refusals.logged.Do(func() {
		s.config.Log.Warn("refused a request; further ones are logged once a minute", "from", from, "reason", p.Detail)
	})
	if s.refusals.limit.Allow() {
		return p
	}
	late := newProblem(http.StatusTooManyRequests, "too many requests are not admitted")
	late.Hint = fmt.Sprintf("ask again after %s s, with the token", retryAfter)
	return late
}
