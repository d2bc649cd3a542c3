package move

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/outlook"
)

// atHome keeps the application in its cluster.
func atHome(v *harness.Move) { v.From, v.To, v.ToName = harness.East(), harness.East(), "web-next" }

// secondClass creates another StorageClass of the cluster's provisioner, and returns its name.
func (v *move) secondClass() string {
	v.T.Helper()
	name := "second-" + v.App.Namespace
	atOnce := storagev1.VolumeBindingImmediate
	_, err := v.Source.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/host-path", VolumeBindingMode: &atOnce,
	}, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() { _ = v.Source.StorageV1().StorageClasses().Delete(v.Ctx, name, metav1.DeleteOptions{}) })
	return name
}

// inPlaceCLI returns a command for a change in place.
func (v *move) inPlaceCLI(verb string, more ...string) *exec.Cmd {
	v.T.Helper()
	args := append([]string{verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig()}, more...)
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

// TestStorageCommandPlans: the plan of another class and a smaller size lists each ordinal, by flags and by a manifest, and
// writes nothing.
func TestStorageCommandPlans(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), atHome)
	second := v.secondClass()
	before := v.versions()
	change := "data=class=" + second + ",size=512Mi,image=mover"
	text := v.exits(v.inPlaceCLI("storage", "--volume", change), 0)
	for _, want := range []string{
		"can be changed in place. 3 replicas of 3, one after the other", "storageClassName of claim template data: " + second + " instead of none", "storage of claim template data: 512Mi instead of 1Gi",
		"2         data-web-2", "warning  CopySizeTooSmall", "recreate StatefulSet web once", "migrate run web", "--in-place", "1 of 3 may be unavailable at once",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
	out, err := v.inPlaceCLI("plan", "--in-place", "--volume", change, "-o", "json").Output()
	v.Must(err)
	var plan outlook.Plan
	v.Must(json.Unmarshal(out, &plan))
	if plan.Refused || plan.Summary.Stopped != 3 || plan.Summary.ClaimsByWork[outlook.Copy] != 3 || plan.Ordinals[0].Ordinal != 2 || !plan.Recreated {
		t.Errorf("%s", out)
	}
	v.exits(v.inPlaceCLI("plan", "--in-place", "--volume", change, "--exit-code"), 1)
	v.exits(v.inPlaceCLI("preflight", "--in-place", "--volume", change), 0)
	set := v.App.StatefulSet()
	set.APIVersion, set.Kind = "apps/v1", "StatefulSet"
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &second
	file := filepath.Join(t.TempDir(), "web.yaml")
	manifest, err := yaml.Marshal(set)
	v.Must(err)
	v.Must(os.WriteFile(file, manifest, 0o600))
	if text := v.exits(v.inPlaceCLI("storage", "--from-manifest", file, "--volume", "data=image=mover"), 0); !strings.Contains(text, "3 replicas of 3") || strings.Contains(text, "512Mi") {
		t.Errorf("the plan of a manifest:\n%s", text)
	}
	if text := v.exits(v.inPlaceCLI("storage", "--volume", "data=size=1Gi"), 0); !strings.Contains(text, "there is nothing to do") {
		t.Errorf("the plan of the present size:\n%s", text)
	}
	if after := v.versions(); after != before {
		t.Errorf("something was written: %s, before %s", after, before)
	}
}

// versions returns the resourceVersions of the set's spec and of its pods.
func (v *move) versions() string {
	v.T.Helper()
	set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	versions := []string{string(set.UID)}
	claims, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range claims.Items {
		versions = append(versions, claims.Items[i].Name+" "+claims.Items[i].ResourceVersion)
	}
	return strings.Join(versions, ", ")
}

// TestStorageCommandRefuses: each obstacle refuses the plan and the run with its reason, and nothing is written.
func TestStorageCommandRefuses(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), atHome)
	second := v.secondClass()
	sets := v.Source.AppsV1().StatefulSets(v.App.Namespace)
	patch := func(text string) {
		_, err := sets.Patch(v.Ctx, v.App.Name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		v.Must(err)
	}
	asked := "data=class=" + second + ",image=mover"
	for _, tc := range []struct{ name, change, reason, set, reset string }{
		{"no class", "data=class=none,image=mover", "StorageClassMissing", "", ""},
		{"no template", "date=class=" + second + ",image=mover", "ClaimTemplateMissing", "", ""},
		{"kept", "data=class=" + second + ",method=rebind", "StorageUnfit", "", ""},
		{"retention", asked, "ClaimOwnedByPod", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}`, `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`},
		{
			"owned", asked, "OwnedByOperator", `{"metadata":{"ownerReferences":[{"apiVersion":"db.example.com/v1","kind":"Database","name":"main","uid":"u","controller":true}]}}`,
			`{"metadata":{"ownerReferences":null}}`,
		},
	} {
		t.Run(tc.name, func(*testing.T) {
			if tc.set != "" {
				patch(tc.set)
				defer patch(tc.reset)
			}
			for _, verb := range []string{"plan", "run"} {
				if text := v.exits(v.inPlaceCLI(verb, "--in-place", "--volume", tc.change), 3); !strings.Contains(text, tc.reason) {
					t.Errorf("%s: %s does not say %s:\n%s", tc.name, verb, tc.reason, text)
				}
			}
		})
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("3Gi")}}}
	_, err := v.Source.CoreV1().ResourceQuotas(v.App.Namespace).Create(v.Ctx, quota, metav1.CreateOptions{})
	v.Must(err)
	v.Eventually("the quota is counted", func(ctx context.Context) (bool, error) {
		found, err := v.Source.CoreV1().ResourceQuotas(v.App.Namespace).Get(ctx, "small", metav1.GetOptions{})
		return err == nil && len(found.Status.Used) > 0, err
	})
	if text := v.exits(v.inPlaceCLI("plan", "--in-place", "--volume", asked), 3); !strings.Contains(text, "QuotaTooSmall") {
		t.Errorf("a quota without room for both volumes:\n%s", text)
	}
	none := v.App.Budget()
	found, err := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).Get(v.Ctx, none.Name, metav1.GetOptions{})
	v.Must(err)
	found.Spec.MaxUnavailable = harness.IntOrString("0")
	_, err = v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).Update(v.Ctx, found, metav1.UpdateOptions{})
	v.Must(err)
	if text := v.exits(v.inPlaceCLI("plan", "--in-place", "--volume", asked), 3); !strings.Contains(text, "BudgetZero") {
		t.Errorf("a budget of 0:\n%s", text)
	}
}

// TestStorageCommandCreates: the API server stores the Migration, with the methods that the claims need.
func TestStorageCommandCreates(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), atHome)
	second := v.secondClass()
	v.exits(v.inPlaceCLI("create", "--in-place", "--volume", "data=class="+second+",image=mover", "--mode", "pause"), 0)
	c, err := fixture.Client(v.From.RESTConfig())
	v.Must(err)
	var m api.Migration
	v.Must(c.Get(v.Ctx, client.ObjectKey{Namespace: v.App.Namespace, Name: v.App.Name}, &m))
	asked := api.AskedOf(m.Spec.Volumes, "data")
	if m.Spec.Storage == nil || *m.Spec.Storage.MarginPercent != 10 || m.Spec.Destination.Name != "" || asked.Method != api.MethodCopy || *asked.StorageClassName != second || asked.Copy.Image != "mover" {
		t.Errorf("stored: %+v", m.Spec)
	}
	v.Must(c.Delete(v.Ctx, &m))
}

// TestStorageCommandRuns: the command changes class and size of a running set under its own name. Then there is nothing to do,
// and the report states that each ordinal is on its new volume.
func TestStorageCommandRuns(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true)
	v := d.inPlace(t, 2)
	data, w := v.fill(), v.watch()
	change := "data=class=" + fastClass + ",size=512Mi,image=mover,devices=allow"
	if text := v.exits(v.inPlaceCLI("run", "--in-place", "--volume", change), 0); !strings.Contains(text, "changing the storage of StatefulSet") {
		t.Errorf("the run:\n%s", text)
	}
	v.expectClaims(fastClass, newSize)
	v.expectContent(data)
	w.agree()
	if text := v.exits(v.inPlaceCLI("storage", "--volume", change), 0); !strings.Contains(text, "there is nothing to do") {
		t.Errorf("the plan after it:\n%s", text)
	}
	if text := v.exits(v.inPlaceCLI("run", "--in-place", "--volume", change), 0); !strings.Contains(text, "there is nothing to do") {
		t.Errorf("a second run:\n%s", text)
	}
	v.exits(v.inPlaceCLI("status"), 0)
	if text := v.exits(v.inPlaceCLI("report"), 0); !strings.Contains(text, "every ordinal runs on volumes of the new claim templates") {
		t.Errorf("the report:\n%s", text)
	}
}
