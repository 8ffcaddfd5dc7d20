package store_test

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

func TestDir(t *testing.T) { storetest.Conform(t, storetest.NewDir(t.TempDir())) }

func TestParse(t *testing.T) {
	for text, want := range map[string]string{ // what String gives of it; empty: the same
		"shards": "", "/srv/shards": "", "file:///srv/a%20b": "/srv/a b", "file://localhost/srv": "/srv", "file:///://": "/://", "a/b://c": "",
		"nats://shards": "", "nats://shards?replicas=3": "", "nats://shards/?replicas=1": "nats://shards",
		"nats://s?server=nats%3A%2F%2F10.0.0.1%3A4222":                "nats://s?server=nats://10.0.0.1:4222",
		"nats://s?domain=hub&server=tls://a:1%2Ctls://b:2":            "nats://s?domain=hub&server=tls://a:1%2Ctls://b:2",
		"nats://s?cluster=lab-1":                                      "",
		"s3://bucket/p?cluster=lab":                                   "",
		"s3://bucket":                                                 "",
		"s3://bucket/a/b/":                                            "s3://bucket/a/b",
		"s3://bucket?endpoint=http://h:9000":                          "",
		"s3://bucket/p?endpoint=https://h&region=eu-1&ca=/etc/ca.pem": "s3://bucket/p?ca=/etc/ca.pem&endpoint=https://h&region=eu-1",
		"s3://bucket/a b+c=é%23%3F%25":                                "s3://bucket/a%20b+c=%C3%A9%23%3F%25",
	} {
		l, err := store.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == "" {
			want = text
		}
		if got := l.String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if again, err := store.Parse(l.String()); err != nil || again != l {
			t.Errorf("%s: %+v becomes %+v, %v", text, l, again, err)
		}
	}
	for _, text := range []string{
		"", "a\x00b", "http://bucket", "S3://bucket", "file://host/srv", "file://srv", "file:///srv?x=1",
		"nats://", "nats://a.b", "nats://a/b", "nats://a?replicas=0", "nats://a?replicas=6", "nats://a?replicas=x", "nats://a?replicas=1&replicas=2", "nats://a?size=1", "nats://a?domain=x.y", "nats://a?domain=*",
		"s3://", "s3://ab", "s3://Bucket", "s3://bucket/../x", "s3://bucket/a//b", "s3://bucket/a%00", "s3://bucket/a%0a", `s3://bucket/a\b`, "s3://bucket/a#b", "s3://bucket/%zz",
		"s3://bucket/%ff", "s3://key:secret@bucket", "s3://bucket?endpoint=h:9000", "s3://bucket?endpoint=ftp://h", "s3://bucket?endpoint=http://u:p@h", "s3://bucket?endpoint=http://h/x",
		"s3://bucket?endpoint=http://h&ca=x", "s3://bucket?region=a/b", "s3://bucket?key=x", "s3://bucket?cluster=a/b", "nats://a?cluster=a.b", "s3://bucket?cluster=a&cluster=b", "file:///srv?cluster=a", "s3://bucket/" + strings.Repeat("x", 600), strings.Repeat("x", 5000),
	} {
		if l, err := store.Parse(text); err == nil {
			t.Errorf("%.60q: %+v", text, l)
		}
	}
	l, err := store.Parse("nats://s?server=nats%3A%2F%2Fme%3Ahush%40h%3A4222")
	if err != nil || strings.Contains(l.Public(), "hush") {
		t.Errorf("%s, %v", l.Public(), err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"/srv", "file:///srv", "nats://a?replicas=3", "s3://bucket/p?endpoint=http://h&region=x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := store.Parse(text)
		if err != nil {
			return
		}
		if again, err := store.Parse(l.String()); err != nil || again != l && l.Scheme != store.File {
			t.Errorf("%q: %+v becomes %+v, %v", text, l, again, err)
		}
	})
}
