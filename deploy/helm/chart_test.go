// Package helm tests the chart: it lints and renders it as Helm does, and reads the result as
// Kubernetes does. It is a module of its own, so that the program does not depend on either.
package helm

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the rendered files instead of comparing with them")

const chartDir = "ergoflow"

// manifests is what ../kubernetes is rendered from.
const manifests = "testdata/manifests.values.yaml"

// valuesFiles are those in testdata.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || !slices.Contains(files, manifests) {
		t.Fatalf("%q, %v", files, err)
	}
	return files
}

func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parseValues(t, string(text))
}

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values := make(map[string]any)
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// render renders the chart as `helm template ergoflow` does. The result has the files that are
// not empty, by name.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "ergoflow", Namespace: "default", Revision: 1, IsInstall: true}
	composed, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(chart, composed)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for name, text := range rendered {
		if text = strings.TrimSpace(text); text != "" && path.Base(name) != "_helpers.tpl" {
			files[path.Base(name)] = text + "\n"
		}
	}
	return files, nil
}

func TestLint(t *testing.T) {
	for _, file := range valuesFiles(t) {
		for _, m := range lint.RunAll(chartDir, readValues(t, file), "default").Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s: %v", file, m.Path, m.Err)
			}
		}
	}
}

// A rendering is compared with what is on disk: that of the manifests with ../kubernetes, which
// people apply without Helm, and the others with one golden file each.
func TestRendering(t *testing.T) {
	for _, file := range valuesFiles(t) {
		files, err := render(readValues(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		delete(files, "NOTES.txt")
		want := make(map[string]string)
		if file == manifests {
			for name, text := range files {
				want["../kubernetes/"+name] = "# Rendered from the chart in ../helm: `make manifests` writes it.\n" + text
			}
			compareNames(t, "../kubernetes/*.yaml", want)
		} else {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(files)) {
				all = append(all, files[name])
			}
			want[strings.TrimSuffix(file, ".values.yaml")+".golden.yaml"] = strings.Join(all, "---\n")
		}
		for name, text := range want {
			compare(t, name, text)
		}
	}
}

func compareNames(t *testing.T, pattern string, want map[string]string) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if _, rendered := want[name]; !rendered {
			t.Errorf("%s is not rendered from the chart", name)
		}
	}
}

func compare(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s is not what the chart renders: `make manifests` writes it", name)
	}
}

// The notes name the pod and the Secret that the manifests have.
func TestNotes(t *testing.T) {
	files, err := render(readValues(t, "testdata/own-services.values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"exec lab-coordinator-0 -- ergoflow tokens create", "secret generic lab-token --from-literal=worker="} {
		if !strings.Contains(files["NOTES.txt"], part) {
			t.Errorf("the notes do not say %q:\n%s", part, files["NOTES.txt"])
		}
	}
}
