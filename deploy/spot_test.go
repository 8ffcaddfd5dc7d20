package deploy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// The scripts of deploy/spot ask a server that answers as the metadata server of each cloud
// does: before a notice, after it, for another machine, and not at all.
func TestSpotNotices(t *testing.T) {
	tool(t, "curl")
	const this, another = "worker_1", "worker_10"
	var ends atomic.Value // name of the machine that is about to end
	needs := func(r *http.Request, key, value string) bool { return r.Header.Get(key) == value }
	clouds := map[string]http.HandlerFunc{
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
		"aws": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && needs(r, "X-aws-ec2-metadata-token-ttl-seconds", "60"):
				fmt.Fprint(w, "AQAAA==")
			case !needs(r, "X-aws-ec2-metadata-token", "AQAAA=="):
				http.Error(w, "Unauthorized", http.StatusUnauthorized)
			case r.URL.Path == "/latest/meta-data/spot/instance-action" && ends.Load() == this:
				fmt.Fprint(w, `{"action": "terminate", "time": "2026-09-18T08:22:00Z"}`)
			default:
				http.NotFound(w, r)
			}
		},
		// https://cloud.google.com/compute/docs/instances/create-use-preemptible
		"gcp": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !needs(r, "Metadata-Flavor", "Google"):
				http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
			case r.URL.Path != "/computeMetadata/v1/instance/preempted":
				http.NotFound(w, r)
			case ends.Load() == this:
				fmt.Fprint(w, "TRUE")
			default:
				fmt.Fprint(w, "FALSE")
			}
		},
		// https://learn.microsoft.com/en-us/azure/virtual-machines/linux/scheduled-events
		"azure": func(w http.ResponseWriter, r *http.Request) {
			const event = `{"EventId": "E", "EventStatus": "Scheduled", "EventType": %q, "ResourceType": "VirtualMachine", "Resources": [%q], "NotBefore": "Mon, 19 Sep 2026 18:29:47 GMT"}`
			events := []string{fmt.Sprintf(event, "Freeze", this)}
			switch {
			case !needs(r, "Metadata", "true"):
				http.Error(w, `{"error": "Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
				return
			case r.URL.Path == "/metadata/instance/compute/name":
				fmt.Fprint(w, this)
				return
			case r.URL.Path != "/metadata/scheduledevents":
				http.NotFound(w, r)
				return
			case ends.Load() != "":
				events = append(events, fmt.Sprintf(event, "Preempt", ends.Load()))
			}
			fmt.Fprintf(w, `{"DocumentIncarnation": 1, "Events": [%s]}`, strings.Join(events, ", "))
		},
	}
	for name, handler := range clouds {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			script := strings.Replace(read(t, "spot/"+name), "http://169.254.169.254/", server.URL+"/", 1)
			says := func(what string, want bool) {
				t.Helper()
				out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
				if (err == nil) != want || len(out) > 0 {
					t.Errorf("%s: %v %s", what, err, out)
				}
			}
			ends.Store("")
			says("before the notice", false)
			ends.Store(another)
			says("another machine ends", false)
			ends.Store(this)
			says("after the notice", true)
			server.Close()
			says("no server", false)
		})
	}
}
