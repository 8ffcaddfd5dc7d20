package helm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// kinds are the types of all objects that the chart may make.
var kinds = map[string]func() metav1.Object{
	"v1/PersistentVolumeClaim":               func() metav1.Object { return &corev1.PersistentVolumeClaim{} },
	"v1/Service":                             func() metav1.Object { return &corev1.Service{} },
	"v1/ServiceAccount":                      func() metav1.Object { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                     func() metav1.Object { return &appsv1.Deployment{} },
	"apps/v1/StatefulSet":                    func() metav1.Object { return &appsv1.StatefulSet{} },
	"autoscaling/v2/HorizontalPodAutoscaler": func() metav1.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"batch/v1/CronJob":                       func() metav1.Object { return &batchv1.CronJob{} },
	"batch/v1/Job":                           func() metav1.Object { return &batchv1.Job{} },
	"networking.k8s.io/v1/NetworkPolicy":     func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"policy/v1/PodDisruptionBudget":          func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
}

// objects reads what a values file renders to. A field that Kubernetes does not have, or that is
// there twice, is an error.
func objects(t *testing.T, file string) (all []metav1.Object) {
	t.Helper()
	files, err := render(readValues(t, file))
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "NOTES.txt")
	for name, text := range files {
		for document := range strings.SplitSeq(text, "\n---\n") {
			object, err := decode(document)
			if err != nil {
				t.Errorf("%s, %s: %v", file, name, err)
				continue
			}
			all = append(all, object)
		}
	}
	return all
}

func decode(document string) (metav1.Object, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		return nil, err
	}
	empty := kinds[head.APIVersion+"/"+head.Kind]
	if empty == nil {
		return nil, fmt.Errorf("%s %s is none of the chart's kinds", head.APIVersion, head.Kind)
	}
	text, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return nil, err
	}
	object := empty()
	strict, err := json.UnmarshalStrict(text, object) // as the API server: case counts
	return object, errors.Join(append(strict, err)...)
}

func TestStrictDecoding(t *testing.T) {
	if _, err := decode("apiVersion: v1\nkind: Service\nspec: {clusterIp: None}\n"); err == nil {
		t.Fatal("a mistyped field is accepted: this test shows nothing")
	}
	for _, file := range valuesFiles(t) {
		seen := make(map[string]bool)
		for _, object := range objects(t, file) {
			name := fmt.Sprintf("%T %s", object, object.GetName())
			if wrong := validation.IsDNS1123Subdomain(object.GetName()); len(wrong) > 0 || seen[name] {
				t.Errorf("%s: %s: %v, twice: %t", file, name, wrong, seen[name])
			}
			seen[name] = true
		}
	}
}

// podTemplate is that of an object that makes pods, with the labels that it selects.
func podTemplate(object metav1.Object) (template *corev1.PodTemplateSpec, selector *metav1.LabelSelector) {
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template, o.Spec.Selector
	case *appsv1.Deployment:
		return &o.Spec.Template, o.Spec.Selector
	case *batchv1.Job:
		return &o.Spec.Template, nil
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, nil
	}
	return nil, nil
}

func TestPods(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, file := range valuesFiles(t) {
		pods := 0
		for _, object := range objects(t, file) {
			template, selector := podTemplate(object)
			if template == nil {
				continue
			}
			pods++
			at := file + ": " + object.GetName()
			spec := template.Spec
			for _, r := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &spec) {
				if !r.Allowed {
					t.Errorf("%s: the restricted profile refuses it: %s: %s", at, r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
			if s, err := metav1.LabelSelectorAsSelector(selector); selector != nil && (err != nil || !s.Matches(labels.Set(template.Labels))) {
				t.Errorf("%s: selects %v, and the pods have %v", at, selector, template.Labels)
			}
			if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
				t.Errorf("%s: a pod gets a token, or variables of services", at)
			}
			checkContainer(t, at, object, spec)
		}
		if pods < 2 {
			t.Errorf("%s: %d kinds of pods", file, pods)
		}
	}
}

// checkContainer checks the only container of a pod: volumes, ports, resources.
func checkContainer(t *testing.T, at string, object metav1.Object, spec corev1.PodSpec) {
	t.Helper()
	if len(spec.Containers) != 1 {
		t.Fatalf("%s: %d containers", at, len(spec.Containers))
	}
	c := spec.Containers[0]
	volumes := make(map[string]bool)
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
	}
	if o, ok := object.(*appsv1.StatefulSet); ok {
		for _, claim := range o.Spec.VolumeClaimTemplates {
			volumes[claim.Name] = true
		}
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s: no volume %s", at, m.Name)
		}
		delete(volumes, m.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("%s: nothing mounts %v", at, volumes)
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("%s: the root can be written", at)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s: resources %+v", at, c.Resources)
	}
	for _, arg := range c.Args {
		for _, m := range spec.Volumes { // a path in a Secret is where that is mounted
			if m.Secret != nil && strings.Contains(arg, "/run/secrets/") &&
				!slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return strings.Contains(arg, v.MountPath) }) {
				t.Errorf("%s: nothing is mounted where %s is", at, arg)
			}
		}
	}
}

// A NetworkPolicy lets through what the containers listen on, and every port that it lets
// through is one of a container.
func TestNetworkPolicies(t *testing.T) {
	type port struct {
		protocol corev1.Protocol
		number   int32
	}
	for _, file := range valuesFiles(t) {
		all := objects(t, file)
		listening, allowed := make(map[string]map[port]bool), make(map[string]map[port]bool)
		policies := 0
		for _, object := range all {
			if template, _ := podTemplate(object); template != nil {
				ports := make(map[port]bool)
				for _, p := range template.Spec.Containers[0].Ports {
					ports[port{protocolOf(p.Protocol), p.ContainerPort}] = true
				}
				listening[template.Labels["app.kubernetes.io/component"]] = ports
			}
			if p, ok := object.(*networkingv1.NetworkPolicy); ok {
				policies++
				ports := make(map[port]bool)
				for _, rule := range p.Spec.Ingress {
					if len(rule.From) == 0 || len(rule.Ports) == 0 {
						t.Errorf("%s: %s lets everybody in, or to every port", file, p.Name)
					}
					for _, from := range rule.Ports {
						ports[port{protocolOf(pointed(from.Protocol)), from.Port.IntVal}] = true
					}
				}
				allowed[p.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"]] = ports
			}
		}
		if policies == 0 && strings.Contains(file, "one-node") {
			continue
		}
		for _, component := range []string{"coordinator", "worker"} {
			if metrics := (port{corev1.ProtocolTCP, 9464}); !strings.Contains(file, "own-services") {
				delete(listening[component], metrics) // no values name who may read them
			}
			if fmt.Sprint(listening[component]) != fmt.Sprint(allowed[component]) || len(allowed[component]) == 0 {
				t.Errorf("%s: the %s listens on %v, and is reached at %v", file, component, listening[component], allowed[component])
			}
		}
	}
}

func pointed(p *corev1.Protocol) corev1.Protocol {
	if p == nil {
		return ""
	}
	return *p
}

func protocolOf(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}
