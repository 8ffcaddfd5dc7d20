package gossip

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
)

func TestDecodeMetaRefuses(t *testing.T) {
	for data, want := range map[string]string{
		``:                                          "JSON",
		`{"role":"king"}`:                           "unknown role",
		`{"role":"coordinator","control":"x"}`:      "missing port",
		`{"role":"worker","data":"a:b:c"}`:          "too many colons",
		`{"role":"worker","data":"a:b"}`:            "not in 1",
		`{"role":"worker","data":"a:0"}`:            "not in 1",
		`{"role":"worker","data":":1"}`:             "no host",
		`{"role":"worker","data":"a b:1"}`:          "no host",
		`{"role":"coordinator"}`:                    "without a control address",
		"{\"role\":\"worker\",\"device\":\"\xff\"}": "UTF-8",
		`{"role":"worker","version":"\u001b[31m"}`:  "not printable",
		`{"role":"` + strings.Repeat("x", 512):      "more than 512",
		`{"role":"worker","started":"tuesday"}`:     "started",
	} {
		if _, err := decodeMeta([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", data, err, want)
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"role":"coordinator","control":"127.0.0.1:7070","version":"0.1.0","started":1}`))
	f.Add([]byte(`{"role":"worker","data":"[::1]:7071","device":"xla:cpu"}`))
	f.Add([]byte(`{"role":"worker","data":"nowhere"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeMeta(data)
		if err != nil {
			return
		}
		if m.ControlAddress != "" {
			if _, _, err := net.SplitHostPort(m.ControlAddress); err != nil {
				t.Fatalf("control address %q: %v", m.ControlAddress, err)
			}
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeMeta(again); len(again) <= 512 && (err != nil || back != m) {
			t.Fatalf("%+v became %+v, %v", m, back, err)
		}
	})
}

// A coordinator's name allows one control address, which may have hyphens.
func TestCoordinatorName(t *testing.T) {
	for _, control := range []string{"10.0.0.12:7070", "gpu-0-rack-1:7070", "[fe80::1%eth-0]:7070"} {
		name := CoordinatorName(control, 4711)
		if err := checkName(name, Meta{Role: RoleCoordinator, ControlAddress: control}); err != nil {
			t.Error(err)
		}
		for begin := range control {
			for end := begin + 1; end <= len(control); end++ {
				part := control[begin:end]
				if part != control && checkName(name, Meta{Role: RoleCoordinator, ControlAddress: part}) == nil {
					t.Errorf("%s allows %s", name, part)
				}
			}
		}
	}
	for _, name := range []string{"", "-", "--", "coordinator", "coordinator-" + "a:1"} {
		if checkName(name, Meta{Role: RoleCoordinator, ControlAddress: "a:1"}) == nil {
			t.Errorf("%q allows a:1", name)
		}
	}
}
