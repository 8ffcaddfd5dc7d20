package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// cronJob is what is checked here of a CronJob of batch/v1. The chart's tests decode all of it
// strictly.
type cronJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Schedule                   string `yaml:"schedule"`
		TimeZone                   string `yaml:"timeZone"`
		ConcurrencyPolicy          string `yaml:"concurrencyPolicy"`
		StartingDeadlineSeconds    int    `yaml:"startingDeadlineSeconds"`
		SuccessfulJobsHistoryLimit int    `yaml:"successfulJobsHistoryLimit"`
		FailedJobsHistoryLimit     int    `yaml:"failedJobsHistoryLimit"`
		JobTemplate                struct {
			Spec job `yaml:"spec"`
		} `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

type job struct {
	BackoffLimit          int `yaml:"backoffLimit"`
	ActiveDeadlineSeconds int `yaml:"activeDeadlineSeconds"`
	PodFailurePolicy      struct {
		Rules []failureRule `yaml:"rules"`
	} `yaml:"podFailurePolicy"`
	Template struct {
		Spec struct {
			RestartPolicy                 string         `yaml:"restartPolicy"`
			TerminationGracePeriodSeconds int            `yaml:"terminationGracePeriodSeconds"`
			SecurityContext               map[string]any `yaml:"securityContext"`
			Containers                    []container    `yaml:"containers"`
			Volumes                       []struct {
				Name                  string         `yaml:"name"`
				PersistentVolumeClaim map[string]any `yaml:"persistentVolumeClaim"`
				EmptyDir              map[string]any `yaml:"emptyDir"`
			} `yaml:"volumes"`
		} `yaml:"spec"`
	} `yaml:"template"`
}

type failureRule struct {
	Action      string `yaml:"action"`
	OnExitCodes struct {
		ContainerName string `yaml:"containerName"`
		Operator      string `yaml:"operator"`
		Values        []int  `yaml:"values"`
	} `yaml:"onExitCodes"`
	OnPodConditions []struct {
		Type   string `yaml:"type"`
		Status string `yaml:"status"`
	} `yaml:"onPodConditions"`
}

type container struct {
	Name            string         `yaml:"name"`
	Image           string         `yaml:"image"`
	Args            []string       `yaml:"args"`
	SecurityContext map[string]any `yaml:"securityContext"`
	Resources       map[string]any `yaml:"resources"`
	VolumeMounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

const cronJobFile = "kubernetes/retrain-cronjob.yaml"

func TestCronJob(t *testing.T) {
	var c cronJob
	if err := yaml.NewDecoder(strings.NewReader(read(t, cronJobFile))).Decode(&c); err != nil { // the first document
		t.Fatal(err)
	}
	if c.APIVersion != "batch/v1" || c.Kind != "CronJob" || c.Metadata.Name == "" {
		t.Errorf("%s %s %q is no CronJob", c.APIVersion, c.Kind, c.Metadata.Name)
	}
	if _, err := schedule.Parse(c.Spec.Schedule, c.Spec.TimeZone); err != nil {
		t.Error(err)
	}
	if c.Spec.ConcurrencyPolicy != "Forbid" {
		t.Errorf("concurrencyPolicy %s", c.Spec.ConcurrencyPolicy)
	}
	// Without a deadline Kubernetes gives a schedule up after 100 missed starts. With one below
	// 10 s it misses starts, since it looks every 10 s.
	if c.Spec.StartingDeadlineSeconds < 10 {
		t.Errorf("startingDeadlineSeconds %d", c.Spec.StartingDeadlineSeconds)
	}
	j := c.Spec.JobTemplate.Spec
	pod := j.Template.Spec
	if pod.RestartPolicy != "Never" || len(pod.Containers) != 1 { // a podFailurePolicy needs Never
		t.Fatalf("restartPolicy %s, %d containers", pod.RestartPolicy, len(pod.Containers))
	}
	retrain := pod.Containers[0]
	checkRetrain(t, retrain.Args)
	var failing []int
	for _, rule := range j.PodFailurePolicy.Rules {
		if rule.Action == "FailJob" {
			failing = append(failing, rule.OnExitCodes.Values...)
			if rule.OnExitCodes.ContainerName != retrain.Name || rule.OnExitCodes.Operator != "In" {
				t.Errorf("rule %+v", rule)
			}
		}
	}
	if slices.Sort(failing); !slices.Equal(failing, codes()) {
		t.Errorf("no second try after %v, want %v", failing, codes())
	}
	volumes := make(map[string]bool)
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	config := retrain.Args[slices.Index(retrain.Args, "--config")+1]
	stored := false
	for _, m := range retrain.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("no volume %s", m.Name)
		}
		stored = stored || strings.HasPrefix(config, m.MountPath+"/")
	}
	if !stored {
		t.Errorf("%s is on no volume", config)
	}
}

// The schemas of Kubernetes find fields that it does not have.
func TestKubernetesValidates(t *testing.T) {
	validate := tool(t, "kubernetes-validate")
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	if out, err := exec.Command(validate, append([]string{"--strict"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("kubernetes-validate: %v\n%s", err, out)
	}
	mistyped := filepath.Join(t.TempDir(), "mistyped.yaml")
	if err := os.WriteFile(mistyped, []byte(strings.Replace(read(t, cronJobFile), "timeZone", "timezone", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if exec.Command(validate, "--strict", mistyped).Run() == nil {
		t.Error("kubernetes-validate passes a mistyped field: this test shows nothing")
	}
}

// The chart names the release of the program.
func TestChartVersion(t *testing.T) {
	var chart struct {
		AppVersion string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "helm/ergoflow/Chart.yaml")), &chart); err != nil || chart.AppVersion != ergoflow.Version {
		t.Errorf("appVersion %q, %v, want %s", chart.AppVersion, err, ergoflow.Version)
	}
}
