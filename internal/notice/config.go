package notice

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Config says whom to tell. The zero value tells nobody.
type Config struct {
	Webhooks []Webhook `yaml:"webhooks" json:"webhooks,omitempty"`
	// Ping is a URL after the convention of healthchecks.io: URL/start, URL, URL/fail.
	Ping string `yaml:"ping" json:"ping,omitempty"`
	// Textfile is a file for the textfile collector of Prometheus' node_exporter, one for each
	// retraining. Its name ends in .prom.
	Textfile string `yaml:"textfile" json:"textfile,omitempty"`
	NATS     NATS   `yaml:"nats" json:"nats,omitzero"`
}

// Webhook gets a POST of JSON when a retraining ends, signed after the convention of Standard
// Webhooks.
type Webhook struct {
	URL string `yaml:"url" json:"url"`
	// The secret is whsec_ and 24 to 64 bytes in base64. It stands in a file or in an
	// environment variable.
	SecretFile string `yaml:"secret_file" json:"secret_file,omitempty"`
	SecretEnv  string `yaml:"secret_env" json:"secret_env,omitempty"`
	// On are the decisions to tell; empty: all but nothing.
	On []string `yaml:"on" json:"on,omitempty"`
}

// NATS gets an event for each beginning and end.
type NATS struct {
	URL string `yaml:"url" json:"url,omitempty"`
}

// Decisions are how a retraining ends.
var Decisions = []string{"promoted", "nothing", "kept", "refused", "out_of_budget", skipped, Failed}

// Failed is the decision of a retraining that ended with an error.
const Failed = "failed"

// skipped is the decision of a retraining that did not run: it says nothing of health.
const skipped = "skipped"

const (
	maxWebhooks = 16
	maxURL      = 2048 // bytes
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Resolve validates the configuration and makes its paths relative to a directory absolute.
// Errors begin with the field.
func (c *Config) Resolve(dir string) error {
	if len(c.Webhooks) > maxWebhooks {
		return fmt.Errorf("webhooks: %d, the limit is %d", len(c.Webhooks), maxWebhooks)
	}
	for i := range c.Webhooks {
		if err := c.Webhooks[i].resolve(dir); err != nil {
			return fmt.Errorf("webhooks[%d].%w", i, err)
		}
	}
	if c.Ping != "" {
		if err := checkURL(c.Ping, "http", "https"); err != nil {
			return fmt.Errorf("ping: %w", err)
		}
	}
	if c.Textfile != "" {
		if !strings.HasSuffix(c.Textfile, ".prom") {
			return fmt.Errorf("textfile: %.200q does not end in .prom: node_exporter would not read it", c.Textfile)
		}
		c.Textfile = absolute(dir, c.Textfile)
	}
	if c.NATS.URL != "" {
		if err := checkURL(c.NATS.URL, "nats", "tls"); err != nil {
			return fmt.Errorf("nats.url: %w", err)
		}
	}
	return nil
}

func (w *Webhook) resolve(dir string) error {
	if err := checkURL(w.URL, "http", "https"); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	switch {
	case w.SecretFile == "" && w.SecretEnv == "":
		return errors.New("secret_file: is missing, and so is secret_env: receivers check the signature by the secret")
	case w.SecretFile != "" && w.SecretEnv != "":
		return errors.New("secret_env: is given beside secret_file: give one of them")
	case w.SecretEnv != "" && !variable.MatchString(w.SecretEnv):
		return errors.New("secret_env: must be the name of an environment variable, not the secret") // so it is not printed
	case w.SecretFile != "":
		w.SecretFile = absolute(dir, w.SecretFile)
	}
	for i, d := range w.On {
		if !slices.Contains(Decisions, d) {
			return fmt.Errorf("on[%d]: %.40q is none of %s", i, d, strings.Join(Decisions, ", "))
		}
	}
	return nil
}

// wants tells whether a webhook is to be told of a decision.
func (w Webhook) wants(decision string) bool {
	if len(w.On) == 0 {
		return decision != "nothing"
	}
	return slices.Contains(w.On, decision)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// checkURL does not print the URL, which may have secrets.
func checkURL(text string, schemes ...string) error {
	if text == "" {
		return errors.New("is missing")
	}
	if len(text) > maxURL {
		return fmt.Errorf("has %d bytes, the limit is %d", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return fmt.Errorf("is no URL such as %s://host/path", schemes[len(schemes)-1])
	}
	return nil
}

// host is the part of a URL that may be printed.
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
