package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Bounds of a POST. Together with MaxTime they bound what a receiver that hangs costs.
const (
	maxAttempts    = 5
	attemptTime    = 8 * time.Second
	firstPause     = time.Second // doubled after each attempt
	maxAnswer      = 16 << 10    // bytes that are read of an answer
	maxRetryAfter  = 15 * time.Second
	userAgent      = "ergoflow"
	contentOfJSON  = "application/json"
	contentOfPlain = "text/plain; charset=utf-8"
)

// poster sends POST requests. It follows no redirects: a body that was signed for one receiver
// goes to no other.
type poster struct{ client http.Client }

func newPoster(transport http.RoundTripper) *poster {
	return &poster{http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post sends a body until it is answered by 2xx. It tries again after no answer, 408, 429 and
// 5xx; other answers are final. headers are made anew for each attempt.
func (p *poster) post(ctx context.Context, to string, body []byte, headers func(time.Time) http.Header, d *Delivery) error {
	pause := firstPause
	for {
		d.Attempts++
		wait, err := p.attempt(ctx, to, body, headers(time.Now()))
		if err == nil || wait < 0 || d.Attempts == maxAttempts {
			return err
		}
		wait = max(wait, pause)
		pause *= 2
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return fmt.Errorf("%w; no time is left for another attempt", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; then it was cancelled", err)
		case <-time.After(wait):
		}
	}
}

// attempt sends a request. After an error, wait is how long the receiver wants to be left
// alone; below 0, another attempt is useless.
func (p *poster) attempt(ctx context.Context, to string, body []byte, header http.Header) (wait time.Duration, err error) {
	inTime, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	request, err := http.NewRequestWithContext(inTime, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return -1, withoutURL(err)
	}
	request.Header = header
	request.Header.Set("User-Agent", userAgent)
	response, err := p.client.Do(request)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return -1, fmt.Errorf("no answer before it was given up: %w", context.Cause(ctx))
		case inTime.Err() != nil:
			return 0, fmt.Errorf("no answer within %v", attemptTime)
		}
		return 0, withoutURL(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // the answer's text is of no interest
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return 0, nil
	case code >= 300 && code < 400:
		return -1, fmt.Errorf("answered %s, a redirect, which is not followed: give the URL that it leads to", response.Status)
	case code == http.StatusGone:
		return -1, fmt.Errorf("answered %s: the receiver wants no more of them", response.Status)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return retryAfter(response.Header), fmt.Errorf("answered %s", response.Status)
	default:
		return -1, fmt.Errorf("answered %s", response.Status)
	}
}

// retryAfter is the pause that an answer asks for in seconds, up to a bound.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(min(n, 3600))*time.Second, maxRetryAfter)
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		return u.Err
	}
	return err
}
