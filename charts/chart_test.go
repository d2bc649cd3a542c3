package charts

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/internal/tool"
)

var update = flag.Bool("update", false, "write the settings into values.schema.json")

const (
	chart     = "sliceshift"
	namespace = "sliceshift-system"
	keep      = "helm.sh/resource-policy"
)

// helm runs helm, and returns its standard output and its standard error.
func helm(t *testing.T, args ...string) (out, complaints string, err error) {
	t.Helper()
	path, err := tool.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// objects are the objects that the chart renders, by kind and name.
type objects map[string]map[string]any

// render returns the objects that helm renders of the chart.
func render(t *testing.T, args ...string) objects {
	t.Helper()
	out, complaints, err := helm(t, append([]string{"template", "sliceshift", chart, "-n", namespace}, args...)...)
	if err != nil {
		t.Fatalf("helm: %v: %s", err, complaints)
	}
	found := objects{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(out), 1<<20)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, out)
		}
		if object.Object != nil {
			found.add(t, object)
		}
	}
}

func (o objects) add(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	name := object.GetKind() + " " + object.GetName()
	if o[name] != nil {
		t.Errorf("%s is there twice", name)
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any // every number has one type
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	o[name] = plain
}

// has reports whether an object of that kind and name was rendered.
func (o objects) has(name string) bool { return o[name] != nil }

// into decodes an object strictly.
func (o objects) into(t *testing.T, name string, typed any) {
	t.Helper()
	if !o.has(name) {
		t.Fatalf("no %s", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o[name], typed, true); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// kustomized returns the objects that kustomize builds of a folder.
func kustomized(t *testing.T, folder string) objects {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	found := objects{}
	for _, each := range built.Resources() {
		content, err := each.Map()
		if err != nil {
			t.Fatal(err)
		}
		found.add(t, &unstructured.Unstructured{Object: content})
	}
	return found
}

// forHelm applies the intended differences of a chart: the namespace belongs to the release, and the definitions are
// kept.
func (o objects) forHelm() objects {
	delete(o, "Namespace "+namespace)
	for name, object := range o {
		if strings.HasPrefix(name, "CustomResourceDefinition ") {
			object["metadata"].(map[string]any)["annotations"].(map[string]any)[keep] = "keep"
		}
	}
	return o
}

// unbounded selects a cluster that does not constrain impersonation.
var unbounded = []string{"--kube-version", "1.35.0"}

// TestChartConstrains: where the cluster constrains impersonation, or may do so, the roles are those of kustomize's
// component.
func TestChartConstrains(t *testing.T) {
	bounded, old := kustomized(t, "testdata/impersonation").forHelm(), kustomized(t, "../config").forHelm()
	for name, tc := range map[string]struct {
		args []string
		want objects
	}{
		"known":        {[]string{"--kube-version", "1.36.0"}, bounded},
		"not known":    {unbounded, old},
		"asked for":    {[]string{"--kube-version", "1.37.1", "--set", "rbac.impersonation=constrained"}, bounded},
		"the old rule": {[]string{"--kube-version", "1.36.0", "--set", "rbac.impersonation=legacy"}, old},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, render(t, tc.args...)); diff != "" {
				t.Errorf("-kustomize +helm:\n%s", diff)
			}
		})
	}
	if _, complaints, err := helm(t, append([]string{"template", "sliceshift", chart, "--set", "rbac.impersonation=constrained"}, unbounded...)...); err == nil || !strings.Contains(complaints, "leave rbac.impersonation at auto") {
		t.Errorf("for a cluster that does not know it: %v: %s", err, complaints)
	}
}

// TestChartIsConfig: with default values the chart renders what kustomize builds of config, object by object.
func TestChartIsConfig(t *testing.T) {
	want, got := kustomized(t, "../config").forHelm(), render(t, unbounded...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kustomize +helm:\n%s", diff)
	}
	if len(got) < 20 {
		t.Errorf("these are not all: %d", len(got))
	}
}

// TestChartHasPolicies: with the values of the policies, the chart also renders the policies that kustomize builds.
func TestChartHasPolicies(t *testing.T) {
	got := render(t, "--set", "policies.fence=true,policies.volumes=true")
	for _, folder := range []string{"../config/admission", "../config/fence"} {
		for name, want := range kustomized(t, folder) {
			if diff := cmp.Diff(want, got[name]); diff != "" {
				t.Errorf("%s (-kustomize +helm):\n%s", name, diff)
			}
		}
	}
}

// TestChartHasPage: with its value the page is served as with kustomize's component, with a certificate if one is set.
func TestChartHasPage(t *testing.T) {
	want, got := kustomized(t, "testdata/ui").forHelm(), render(t, append([]string{"--set", "ui.enabled=true"}, unbounded...)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kustomize +helm:\n%s", diff)
	}
	for _, tc := range []struct{ values, want string }{
		{"ui.enabled=true,ui.certificateSecret=page", "page"},
		{"ui.certificateSecret=page", ""},
	} {
		deployment := corev1.PodTemplateSpec{}
		template := render(t, "--set", tc.values)["Deployment sliceshift-manager"]["spec"].(map[string]any)["template"].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(template, &deployment, true); err != nil {
			t.Fatal(err)
		}
		mounted, dir := "", ""
		for _, volume := range deployment.Spec.Volumes {
			mounted = volume.Secret.SecretName
		}
		for _, env := range deployment.Spec.Containers[0].Env {
			if env.Name == "SLICESHIFT_UI_CERT_DIR" {
				dir = env.Value
			}
		}
		if mounted != tc.want || (dir == "/ui-certs") != (tc.want != "") {
			t.Errorf("with %s the Secret %q is at %q", tc.values, mounted, dir)
		}
	}
}

// TestChartInAnotherNamespace: no object remains in the default namespace, and nothing else differs.
func TestChartInAnotherNamespace(t *testing.T) {
	all := []string{"--set", "policies.fence=true,policies.volumes=true,config.logLevel=debug,ui.enabled=true"}
	usual, moved := render(t, all...), render(t, append(all, "-n", "movers")...)
	data, err := json.Marshal(usual)
	if err != nil {
		t.Fatal(err)
	}
	want := objects{}
	if err := json.Unmarshal(bytes.ReplaceAll(data, []byte(`"namespace":"`+namespace+`"`), []byte(`"namespace":"movers"`)), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, moved); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSchema: the schema of the values has the settings of the manager. With -update it is rewritten with them.
func TestSchema(t *testing.T) {
	path := filepath.Join(chart, "values.schema.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	schema["properties"].(map[string]any)["config"] = config.Schema()
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(data)); diff != "" {
		t.Errorf("make generate writes it (-want +got):\n%s", diff)
	}
}

// TestSettings: the manager reads the settings file that the chart writes.
func TestSettings(t *testing.T) {
	got := render(t, "--set", "config.watchNamespace=shop,config.leaderElection.retryPeriod=1s,config.slices.enabled=false", "--set-json", "config.clusterClient.qps=2.5",
		"--set", `config.volumes.drivers=nfs\,ebs.csi.aws.com`, "--set", "extraArgs={--log-level=debug}")
	var settings corev1.ConfigMap
	got.into(t, "ConfigMap sliceshift-manager", &settings)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(settings.Data["config.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.WatchNamespace, want.LeaderElection.RetryPeriod, want.ClusterClient.QPS, want.Slices.Enabled = "shop", 1e9, 2.5, false
	want.Volumes.Drivers = []string{"nfs", "ebs.csi.aws.com"}
	if diff := cmp.Diff(want, loaded); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	manager := container(t, got)
	if diff := cmp.Diff([]string{"--config=/etc/sliceshift/config.yaml", "--log-level=debug"}, manager.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "config", MountPath: "/etc/sliceshift", ReadOnly: true}}, manager.VolumeMounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if got.has("ClusterRole sliceshift-slices") || got.has("ClusterRoleBinding sliceshift-slices") || !got.has("ClusterRole sliceshift-manager") {
		t.Error("the rights for slices are not what alone is left out")
	}
}
