package move

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// kruise is the apiVersion of OpenKruise's StatefulSet.
const kruise = "apps.kruise.io/v1beta1"

//go:embed kruise.yaml
var kruiseCRD []byte

// installKruise installs OpenKruise's StatefulSet kind in both clusters, without its controller.
var installKruise = harness.OnceInBoth(define(kruiseCRD))

// kruiseSpec holds fields of the test's StatefulSet that apps/v1 lacks or that differ from it. Its partition
// keeps two of three pods.
const kruiseSpec = `{"spec":{"podManagementPolicy":"Parallel","reserveOrdinals":["7-9"],"scaleStrategy":{"maxUnavailable":"50%"},
	"volumeClaimUpdateStrategy":{},"lifecycle":{"preDelete":{"labelsHandler":{"leave":"cluster"}}},
	"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2,"maxUnavailable":1,"podUpdatePolicy":"ReCreate","minReadySeconds":0}}}}`

// newKruiseMove deploys an application as OpenKruise would. Its pods and revision come from apps/v1, whose form
// OpenKruise uses.
func newKruiseMove(t *testing.T) *move {
	t.Helper()
	t.Parallel()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	if err := installKruise(); err != nil {
		t.Fatal(err)
	}
	app := harness.Usual(3)
	app.Policy = parallel
	return newMove(t, app, harness.AcrossClusters, by(func(v *move) {
		v.Migration.Spec.Source.APIVersion = kruise // the auditor watches it
		v.Deployed = v.asKruise
	}))
}

// asKruise gives the pods to a StatefulSet of OpenKruise, and sets its status as its controller would.
func (v *move) asKruise() {
	v.T.Helper()
	set, spec := v.orphaned()
	delete(spec, "updateStrategy")
	c, made := v.kindClient(v.Here(), kruise)
	made.Object["spec"] = spec
	v.Must(c.Create(v.Ctx, made))
	v.Must(v.patchKind(v.Here(), kruise, kruiseSpec))
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(made), made))
	v.ownedBy(c, made)
	settled := fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":3,"readyReplicas":3,"availableReplicas":3,"currentReplicas":3,"updatedReplicas":3,"currentRevision":%[2]q,"updateRevision":%[2]q}}`,
		made.GetGeneration(), set.Status.UpdateRevision)
	v.Must(c.Status().Patch(v.Ctx, made, client.RawPatch("application/merge-patch+json", []byte(settled))))
}

// ownedBy makes an object the controller of the source's pods and revisions.
func (v *move) ownedBy(c client.Client, owner client.Object) {
	v.T.Helper()
	ref := metav1.NewControllerRef(owner, owner.GetObjectKind().GroupVersionKind())
	revisions, err := v.Source.AppsV1().ControllerRevisions(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	var owned []client.Object
	for _, pod := range v.sourcePods() {
		owned = append(owned, &pod)
	}
	for i := range revisions.Items {
		owned = append(owned, &revisions.Items[i])
	}
	for _, object := range owned {
		before := object.DeepCopyObject().(client.Object)
		object.SetOwnerReferences([]metav1.OwnerReference{*ref})
		v.Must(c.Patch(v.Ctx, object, client.MergeFrom(before)))
	}
}

// lives returns the UIDs, restarts and revisions of the source's pods.
func (v *move) lives() string {
	v.T.Helper()
	var text strings.Builder
	for _, pod := range v.sourcePods() {
		restarts := int32(0)
		for _, status := range pod.Status.ContainerStatuses {
			restarts += status.RestartCount
		}
		fmt.Fprintf(&text, "%s %s %d %s\n", pod.Name, pod.UID, restarts, pod.Labels[appsv1.StatefulSetRevisionLabel])
	}
	return text.String()
}

// adoptKruise runs the adopt command in the directory dir.
func (v *move) adoptKruise(dir string, code int, more ...string) string {
	v.T.Helper()
	cmd := v.cli("adopt", append([]string{"--from", "kruise"}, more...)...)
	cmd.Dir = dir
	return v.exits(cmd, code)
}

// expectOurs waits until our StatefulSet has all pods. It checks that they are the same pods as before, at the
// only revision.
func (v *move) expectOurs(before string) {
	v.T.Helper()
	v.expectKind(v.Here(), slice, 3)
	if after := v.lives(); after != before {
		v.T.Errorf("pods are not the ones from before:\n%s\n%s", before, after)
	}
	c, object := v.kindClient(v.Here(), slice)
	set := &slicesapi.StatefulSet{}
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(object), set))
	revisions, err := v.Source.AppsV1().ControllerRevisions(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	others := func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) }
	own := slices.DeleteFunc(revisions.Items, others)
	if s := set.Status; len(own) != 1 || s.UpdateRevision != own[0].Name || s.CurrentRevision != s.UpdateRevision || s.UpdatedReplicas != 3 {
		v.T.Errorf("%d revisions, status %+v", len(own), s)
	}
	v.ExpectVolumes(v.Here(), 3)
}

// TestAdoptKruise adopts a running StatefulSet of OpenKruise, whose controller does not run. No pod is
// recreated.
func TestAdoptKruise(t *testing.T) {
	t.Parallel()
	t.Run("U-06: its pods run on, and its partition keeps the same ones", func(t *testing.T) {
		v := newKruiseMove(t)
		before := v.lives()
		v.adoptKruise(t.TempDir(), 0)
		v.expectOurs(before)
		pods := v.podRevisions()
		v.Must(v.patchKind(v.Here(), slice, `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`))
		v.rollout(0, "partitioned roll out complete: 1 new pods have been updated...", "status", "--timeout", "1m")
		after := v.podRevisions()
		if after["web-0"] != pods["web-0"] || after["web-1"] != pods["web-1"] || after["web-2"][1] != "2" {
			t.Errorf("pods %v, before %v", after, pods)
		}
	})
	t.Run("U-06: what ours does not have is named, and nothing is changed", func(t *testing.T) {
		v := newKruiseMove(t)
		before := v.lives()
		v.Must(v.patchKind(v.Here(), kruise, `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"5"}},"spec":{"lifecycle":{"preNormal":{"labelsHandler":{"a":"b"}}}}}`))
		c, set := v.kindClient(v.Here(), kruise)
		v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(set), set))
		v.Must(c.Status().Patch(v.Ctx, set, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, set.GetGeneration()))))
		dir, version := t.TempDir(), set.GetResourceVersion()
		out := v.adoptKruise(dir, 3)
		for _, want := range []string{`unknown field "spec.lifecycle.preNormal": clear it`, "annotation apps.kruise.io/image-predownload-parallelism: remove it, and set updateStrategy.rollingUpdate.prePull afterwards", "nothing was changed"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in %s", want, out)
			}
		}
		v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(set), set))
		if left, _ := os.ReadDir(dir); len(left) > 0 || set.GetResourceVersion() != version || v.lives() != before {
			t.Errorf("files %v, resourceVersion %s, before %s, pods\n%s", left, set.GetResourceVersion(), version, v.lives())
		}
	})
	t.Run("U-06: interrupted half-way, the pods run on, and the file brings them to ours", func(t *testing.T) {
		v := newKruiseMove(t)
		before, dir := v.lives(), t.TempDir()
		policy := v.refuseSlices()
		if out := v.adoptKruise(dir, 1); !strings.Contains(out, "no controller manages them") {
			t.Errorf("it says %s", out)
		}
		file := filepath.Join(dir, v.App.Namespace+"-web.statefulset.yaml")
		if out := v.adoptKruise(dir, 1); !strings.Contains(out, "of an earlier try is here: kubectl --kubeconfig ") || v.lives() != before {
			t.Errorf("it says %s; pods\n%s", out, v.lives())
		}
		v.Must(v.Source.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(v.Ctx, policy, metav1.DeleteOptions{}))
		data, err := os.ReadFile(file)
		v.Must(err)
		c, set := v.kindClient(v.Here(), slice)
		v.Must(yaml.Unmarshal(data, &set.Object))
		v.Eventually("it is created", func(ctx context.Context) (bool, error) { return c.Create(ctx, set.DeepCopy()) == nil, nil })
		v.expectOurs(before)
	})
}

// refuseSlices makes the API server refuse our StatefulSet, except in a dry run.
func (v *move) refuseSlices() (policy string) {
	v.T.Helper()
	const message = "no StatefulSets of this kind"
	policy = "refuse-slices-" + v.App.Namespace
	v.policy(v.Here(), policy, admissionregistrationv1.Rule{
		APIGroups: []string{slicesapi.GroupVersion.Group}, APIVersions: []string{slicesapi.GroupVersion.Version}, Resources: []string{"statefulsets"},
	}, admissionregistrationv1.Validation{Expression: "has(request.dryRun) && request.dryRun", Message: message})
	c, probe := v.kindClient(v.Here(), slice)
	probe.SetName("probe")
	app := map[string]any{"app": "probe"}
	probe.Object["spec"] = map[string]any{
		"replicas": int64(0), "selector": map[string]any{"matchLabels": app},
		"template": map[string]any{"metadata": map[string]any{"labels": app}, "spec": map[string]any{"containers": []any{map[string]any{"name": "probe", "image": "probe"}}}},
	}
	v.Eventually("the policy refuses", func(ctx context.Context) (bool, error) {
		probe.SetResourceVersion("")
		if err := c.Create(ctx, probe); err != nil {
			return strings.Contains(err.Error(), message), nil
		}
		return false, client.IgnoreNotFound(c.Delete(ctx, probe))
	})
	return policy
}
