package notice

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestResolve(t *testing.T) {
	var c Config
	err := yaml.UnmarshalWithOptions([]byte(`
webhooks:
  - url: https://example.org/hooks/ergoflow
    secret_file: webhook.secret
    on: [promoted, failed]
  - {url: "http://10.0.0.7:8080", secret_env: ERGOFLOW_SECRET}
ping: https://hc-ping.com/8a5a
textfile: /var/lib/prometheus/node-exporter/ergoflow.prom
nats: {url: "nats://127.0.0.1:4222"}
`), &c, yaml.Strict())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Resolve("/etc/ergoflow"); err != nil {
		t.Fatal(err)
	}
	if c.Webhooks[0].SecretFile != "/etc/ergoflow/webhook.secret" || !strings.HasPrefix(c.Textfile, "/var/") {
		t.Errorf("paths: %+v", c)
	}
	for _, test := range []struct {
		webhook, decision string
		want              bool
	}{{"0", "promoted", true}, {"0", "kept", false}, {"1", "kept", true}, {"1", "nothing", false}, {"1", "failed", true}} {
		if got := c.Webhooks[test.webhook[0]-'0'].wants(test.decision); got != test.want {
			t.Errorf("webhook %s, %s: %v", test.webhook, test.decision, got)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	const secret = "s3cr3t"
	many := make([]Webhook, maxWebhooks+1)
	for _, test := range []struct {
		config Config
		why    string
	}{
		{Config{Webhooks: many}, "webhooks: 17, the limit is 16"},
		{Config{Webhooks: []Webhook{{SecretEnv: "X"}}}, "webhooks[0].url: is missing"},
		{Config{Webhooks: []Webhook{{URL: "ftp://u:" + secret + "@host", SecretEnv: "X"}}}, "webhooks[0].url: is no URL"},
		{Config{Webhooks: []Webhook{{URL: "https://%zz" + secret, SecretEnv: "X"}}}, "webhooks[0].url: is no URL"},
		{Config{Webhooks: []Webhook{{URL: "https://" + strings.Repeat("x", maxURL), SecretEnv: "X"}}}, "the limit is 2048"},
		{Config{Webhooks: []Webhook{{URL: "https://host"}}}, "webhooks[0].secret_file: is missing"},
		{Config{Webhooks: []Webhook{{URL: "https://host", SecretEnv: "X", SecretFile: "x"}}}, "give one of them"},
		{Config{Webhooks: []Webhook{{URL: "https://host", SecretEnv: "whsec_" + secret + "="}}}, "not the secret"},
		{Config{Webhooks: []Webhook{{URL: "https://host", SecretEnv: "X", On: []string{"kept", "won"}}}}, `webhooks[0].on[1]: "won" is none of promoted`},
		{Config{Ping: "hc-ping.com/" + secret}, "ping: is no URL"},
		{Config{Textfile: "ergoflow.txt"}, "textfile: "},
		{Config{NATS: NATS{"http://host"}}, "nats.url: is no URL"},
	} {
		err := test.config.Resolve("/")
		if err == nil || !strings.Contains(err.Error(), test.why) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v, want %q", err, test.why)
		}
	}
}
