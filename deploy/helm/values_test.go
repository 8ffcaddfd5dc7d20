package helm

import (
	"strings"
	"testing"
)

// Values that cannot be are refused, by a message that names them.
func TestImpossibleValues(t *testing.T) {
	for values, want := range map[string]string{
		"workers: {replicas: -1}":           "/workers/replicas",
		"workers: {replicas: two}":          "/workers/replicas",
		"workers: {replica: 2}":             "replica",
		"workers: {kind: DaemonSet}":        "/workers/kind",
		"workers: {kind: Job, replicas: 0}": "/workers/replicas",
		"workers: {kind: Job, autoscaling: {enabled: true, metrics: [{type: Pods}]}}":      "/workers/autoscaling/enabled",
		"workers: {activeDeadlineSeconds: 60}":                                             "/workers/activeDeadlineSeconds",
		"workers: {backend: cuda}":                                                         "/workers/backend",
		"workers: {backend: xla:cuda}":                                                     "/workers/gpus",
		"workers: {gpus: 2}":                                                               "/workers/gpus",
		"workers: {gpus: 0.5}":                                                             "/workers/gpus",
		"workers: {autoscaling: {enabled: true}}":                                          "/workers/autoscaling/metrics",
		"workers: {autoscaling: {enabled: true, minReplicas: 5, metrics: [{type: Pods}]}}": "minReplicas is 5, above maxReplicas, 4",
		"workers: {podDisruptionBudget: {maxUnavailable: 0}}":                              "/workers/podDisruptionBudget/maxUnavailable",
		"workers: {podDisruptionBudget: {maxUnavailable: 101%}}":                           "/workers/podDisruptionBudget/maxUnavailable",
		"workers: {terminationGracePeriodSeconds: 5}":                                      "/workers/terminationGracePeriodSeconds",
		"workers: {resources: {limits: {memory: 8 GB}}}":                                   "/workers/resources/limits/memory",
		"workers: {resources: {limit: {memory: 8Gi}}}":                                     "limit",
		"workers: {threads: -1}":                                                           "/workers/threads",
		"workers: {image: ergoflow}":                                                       "image",
		"coordinator: {replicas: 2}":                                                       "replicas",
		"coordinator: {workersFor: \"0:2\"}":                                               "/coordinator/workersFor",
		"coordinator: {workersFor: 2-4}":                                                   "/coordinator/workersFor",
		"coordinator: {workersFor: \"4:2\"}":                                               "the minimum is above the maximum",
		"coordinator: {certificateLife: forever}":                                          "/coordinator/certificateLife",
		"coordinator: {nats: http://nats.example}":                                         "/coordinator/nats",
		"coordinator: {nats: \"nats://name:secret@nats.example:4222\"}":                    "/coordinator/nats",
		"coordinator: {terminationGracePeriodSeconds: 10}":                                 "/coordinator/terminationGracePeriodSeconds",
		"coordinator: {persistence: {size: 10 GB}}":                                        "/coordinator/persistence/size",
		"coordinator: {persistence: {size: 0}}":                                            "/coordinator/persistence/size",
		"coordinator: {persistence: {accessMode: ReadWriteMany}}":                          "/coordinator/persistence/accessMode",
		"store: {accessMode: ReadOnlyMany}":                                                "/store/accessMode",
		"store: {accessMode: ReadWriteOncePod}":                                            "/store/accessMode",
		"{store: {accessMode: ReadWriteOnce}, workers: {affinity: {nodeAffinity: {}}}}":    "leave workers.affinity empty",
		"store: {location: /srv/shards}":                                                   "/store/location",
		"store: {location: \"s3://key:secret@shards\"}":                                    "/store/location",
		"store: {location: \"s3://shards\"}":                                               "name its address in networkPolicy.egress",
		"store: {location: \"nats://shards\", existingClaim: lab}":                         "leave store.existingClaim empty",
		"store: {secret: lab}":                                                             "store.secret is for a store.location with s3://",
		"store: {cacheSize: 20 GB}":                                                        "/store/cacheSize",
		"token: {existingSecret: \"\"}":                                                    "/token/existingSecret",
		"token: {existingSecret: My_Token}":                                                "/token/existingSecret",
		"token: {value: ERGO1abc}":                                                         "value",
		"image: {digest: sha256:1234}":                                                     "/image/digest",
		"image: {tag: \"a b\"}":                                                            "/image/tag",
		"image: {pullPolicy: Sometimes}":                                                   "/image/pullPolicy",
		"retrain: {schedule: nightly}":                                                     "/retrain/schedule",
		"retrain: {startingDeadlineSeconds: 5}":                                            "/retrain/startingDeadlineSeconds",
		"retrain: {config: ../retrain.yaml}":                                               "/retrain/config",
		"retrain: {config: /etc/retrain.yaml}":                                             "/retrain/config",
		"networkPolicy: {clients: [{}]}":                                                   "/networkPolicy/clients/0",
		"networkpolicy: {enabled: true}":                                                   "networkpolicy",
		"fullnameOverride: Lab":                                                            "/fullnameOverride",
	} {
		_, err := render(parseValues(t, values))
		if err == nil {
			t.Errorf("%s is accepted", values)
		} else if message := strings.ReplaceAll(err.Error(), "''", "/"); !strings.Contains(message, want) {
			t.Errorf("%s: %v does not say %q", values, err, want)
		}
	}
}

// Every value can be given as it is by default, so the schema has no default that it refuses,
// and knows every value that there is.
func TestDefaults(t *testing.T) {
	if _, err := render(readValues(t, "ergoflow/values.yaml")); err != nil {
		t.Error(err)
	}
}
