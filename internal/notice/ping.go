package notice

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const maxPing = 10_000 // bytes of a ping's body; healthchecks.io keeps as many of a free account

// ping tells a dead man's switch after the convention of healthchecks.io: a POST to URL/start,
// to URL after success, to URL/fail after a failure, with a short text.
func ping(ctx context.Context, p *poster, to string, e Event, d *Delivery) error {
	u, err := url.Parse(to)
	if err != nil {
		return withoutURL(err)
	}
	switch {
	case e.begins():
		u = u.JoinPath("start")
	case e.Decision == Failed:
		u = u.JoinPath("fail")
	}
	text := fmt.Sprintf("%s: %s", e.Name, e.kind())
	if !e.begins() {
		text += fmt.Sprintf(", exit code %d, %.0f s", e.ExitCode, e.seconds())
	}
	if e.Text != "" {
		text += "\n" + e.Text
	}
	if len(text) > maxPing {
		text = strings.ToValidUTF8(text[:maxPing], "")
	}
	return p.post(ctx, u.String(), []byte(text+"\n"), func(time.Time) http.Header {
		return http.Header{"Content-Type": {contentOfPlain}}
	}, d)
}
