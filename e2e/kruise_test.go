package e2e

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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// kruise is the kind of OpenKruise.
const kruise = "apps.kruise.io/v1beta1"

//go:embed kruise.yaml
var kruiseCRD []byte

// installKruise puts the kind of OpenKruise into both clusters, without its controller.
var installKruise = oncePerPair(func() error {
	for _, each := range []site{east, west} {
		c, err := direct(each)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(kruiseCRD, crd); err != nil {
			return err
		}
		if err := create(c, crd); err != nil {
			return err
		}
	}
	return nil
})

// kruiseSpec is what the StatefulSet of the tests says beyond apps/v1: of three pods two are kept.
const kruiseSpec = `{"spec":{"podManagementPolicy":"Parallel","reserveOrdinals":["7-9"],"scaleStrategy":{"maxUnavailable":"50%"},
	"volumeClaimUpdateStrategy":{},"lifecycle":{"preDelete":{"labelsHandler":{"leave":"cluster"}}},
	"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2,"maxUnavailable":1,"podUpdatePolicy":"ReCreate","minReadySeconds":0}}}}`

// newKruiseMove is an application that OpenKruise might have made: its pods and their revision
// are those of apps/v1, whose form OpenKruise keeps to.
func newKruiseMove(t *testing.T) *move {
	t.Helper()
	t.Parallel()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	if err := installKruise(); err != nil {
		t.Fatal(err)
	}
	app := usual(3)
	app.Policy = parallel
	return newMove(t, app, acrossClusters, func(v *move) {
		v.m.Spec.Source.APIVersion = kruise // which the auditor watches
		v.deployed = v.asKruise
	})
}

// asKruise hands the pods to a StatefulSet of OpenKruise, and says of it what its controller
// would.
func (v *move) asKruise() {
	v.t.Helper()
	set, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	orphan := metav1.DeletePropagationOrphan
	v.must(v.source.AppsV1().StatefulSets(v.app.Namespace).Delete(v.ctx, v.app.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	v.eventually("the native set is gone", func(ctx context.Context) (bool, error) {
		_, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(ctx, v.app.Name, metav1.GetOptions{})
		return err != nil, nil
	})
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set.Spec)
	v.must(err)
	delete(spec, "updateStrategy")
	c, made := v.kindClient(v.here(), kruise)
	made.Object["spec"] = spec
	v.must(c.Create(v.ctx, made))
	v.must(v.patchKind(v.here(), kruise, kruiseSpec))
	v.must(c.Get(v.ctx, client.ObjectKeyFromObject(made), made))
	v.ownedBy(c, made)
	settled := fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":3,"readyReplicas":3,"availableReplicas":3,"currentReplicas":3,"updatedReplicas":3,"currentRevision":%[2]q,"updateRevision":%[2]q}}`,
		made.GetGeneration(), set.Status.UpdateRevision)
	v.must(c.Status().Patch(v.ctx, made, client.RawPatch("application/merge-patch+json", []byte(settled))))
}

// ownedBy makes an object the controller of the source's pods and revisions.
func (v *move) ownedBy(c client.Client, owner client.Object) {
	v.t.Helper()
	ref := metav1.NewControllerRef(owner, owner.GetObjectKind().GroupVersionKind())
	pods, err := v.source.CoreV1().Pods(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	revisions, err := v.source.AppsV1().ControllerRevisions(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	var owned []client.Object
	for i := range pods.Items {
		owned = append(owned, &pods.Items[i])
	}
	for i := range revisions.Items {
		owned = append(owned, &revisions.Items[i])
	}
	for _, object := range owned {
		before := object.DeepCopyObject().(client.Object)
		object.SetOwnerReferences([]metav1.OwnerReference{*ref})
		v.must(c.Patch(v.ctx, object, client.MergeFrom(before)))
	}
}

// lives are the UIDs and restarts of the source's pods, with their revision.
func (v *move) lives() string {
	v.t.Helper()
	pods, err := v.source.CoreV1().Pods(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	var text strings.Builder
	for _, pod := range pods.Items {
		restarts := int32(0)
		for _, status := range pod.Status.ContainerStatuses {
			restarts += status.RestartCount
		}
		fmt.Fprintf(&text, "%s %s %d %s\n", pod.Name, pod.UID, restarts, pod.Labels[appsv1.StatefulSetRevisionLabel])
	}
	return text.String()
}

// adoptKruise runs the command in a directory of its own.
func (v *move) adoptKruise(dir string, code int, more ...string) string {
	v.t.Helper()
	cmd := v.cli("adopt", append([]string{"--from", "kruise"}, more...)...)
	cmd.Dir = dir
	return v.exits(cmd, code)
}

// expectOurs waits until ours has all pods, and looks at that they are the ones from before, at
// the one revision there is.
func (v *move) expectOurs(before string) {
	v.t.Helper()
	v.expectKind(v.here(), slice, 3)
	if after := v.lives(); after != before {
		v.t.Errorf("pods are not the ones from before:\n%s\n%s", before, after)
	}
	c, object := v.kindClient(v.here(), slice)
	set := &slicesapi.StatefulSet{}
	v.must(c.Get(v.ctx, client.ObjectKeyFromObject(object), set))
	revisions, err := v.source.AppsV1().ControllerRevisions(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	others := func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) }
	own := slices.DeleteFunc(revisions.Items, others)
	if s := set.Status; len(own) != 1 || s.UpdateRevision != own[0].Name || s.CurrentRevision != s.UpdateRevision || s.UpdatedReplicas != 3 {
		v.t.Errorf("%d revisions, status %+v", len(own), s)
	}
	v.expectVolumes(v.here(), 3)
}

// TestAdoptKruise makes one of ours of a running StatefulSet of OpenKruise, whose own controller is
// not there. No pod is made anew.
func TestAdoptKruise(t *testing.T) {
	t.Parallel()
	t.Run("U-06: its pods run on, and its partition keeps the same ones", func(t *testing.T) {
		v := newKruiseMove(t)
		before := v.lives()
		v.adoptKruise(t.TempDir(), 0)
		v.expectOurs(before)
		pods := v.sourcePods()
		v.must(v.patchKind(v.here(), slice, `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`))
		v.rollout(0, "partitioned roll out complete: 1 new pods have been updated...", "status", "--timeout", "1m")
		after := v.sourcePods()
		if after["web-0"] != pods["web-0"] || after["web-1"] != pods["web-1"] || after["web-2"][1] != "2" {
			t.Errorf("pods %v, before %v", after, pods)
		}
	})
	t.Run("U-06: what ours does not have is named, and nothing is changed", func(t *testing.T) {
		v := newKruiseMove(t)
		before := v.lives()
		v.must(v.patchKind(v.here(), kruise, `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"5"}},"spec":{"lifecycle":{"preNormal":{"labelsHandler":{"a":"b"}}}}}`))
		c, set := v.kindClient(v.here(), kruise)
		v.must(c.Get(v.ctx, client.ObjectKeyFromObject(set), set))
		v.must(c.Status().Patch(v.ctx, set, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, set.GetGeneration()))))
		dir, version := t.TempDir(), set.GetResourceVersion()
		out := v.adoptKruise(dir, 3)
		for _, want := range []string{`unknown field "spec.lifecycle.preNormal": clear it`, "annotation apps.kruise.io/image-predownload-parallelism: remove it, and set updateStrategy.rollingUpdate.prePull afterwards", "nothing was changed"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in %s", want, out)
			}
		}
		v.must(c.Get(v.ctx, client.ObjectKeyFromObject(set), set))
		if left, _ := os.ReadDir(dir); len(left) > 0 || set.GetResourceVersion() != version || v.lives() != before {
			t.Errorf("files %v, resourceVersion %s, before %s, pods\n%s", left, set.GetResourceVersion(), version, v.lives())
		}
	})
	t.Run("U-06: interrupted half-way, the pods run on, and the file brings them to ours", func(t *testing.T) {
		v := newKruiseMove(t)
		before, dir := v.lives(), t.TempDir()
		policy := v.refuseSlices()
		if out := v.adoptKruise(dir, 1); !strings.Contains(out, "no controller looks after them") {
			t.Errorf("it says %s", out)
		}
		file := filepath.Join(dir, v.app.Namespace+"-web.statefulset.yaml")
		if out := v.adoptKruise(dir, 1); !strings.Contains(out, "of an earlier try is here: kubectl create -f") || v.lives() != before {
			t.Errorf("it says %s; pods\n%s", out, v.lives())
		}
		v.must(v.source.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(v.ctx, policy, metav1.DeleteOptions{}))
		data, err := os.ReadFile(file)
		v.must(err)
		c, set := v.kindClient(v.here(), slice)
		v.must(yaml.Unmarshal(data, &set.Object))
		v.eventually("it is created", func(ctx context.Context) (bool, error) { return c.Create(ctx, set.DeepCopy()) == nil, nil })
		v.expectOurs(before)
	})
}

// refuseSlices has the API server refuse one of ours, but for a dry run.
func (v *move) refuseSlices() (policy string) {
	v.t.Helper()
	const message = "no StatefulSets of this kind"
	policy = "refuse-slices-" + v.app.Namespace
	v.policy(v.here(), policy, admissionregistrationv1.Rule{
		APIGroups: []string{slicesapi.GroupVersion.Group}, APIVersions: []string{slicesapi.GroupVersion.Version}, Resources: []string{"statefulsets"},
	}, admissionregistrationv1.Validation{Expression: "has(request.dryRun) && request.dryRun", Message: message})
	c, probe := v.kindClient(v.here(), slice)
	probe.SetName("probe")
	app := map[string]any{"app": "probe"}
	probe.Object["spec"] = map[string]any{
		"replicas": int64(0), "selector": map[string]any{"matchLabels": app},
		"template": map[string]any{"metadata": map[string]any{"labels": app}, "spec": map[string]any{"containers": []any{map[string]any{"name": "probe", "image": "probe"}}}},
	}
	v.eventually("the policy refuses", func(ctx context.Context) (bool, error) {
		probe.SetResourceVersion("")
		if err := c.Create(ctx, probe); err != nil {
			return strings.Contains(err.Error(), message), nil
		}
		return false, client.IgnoreNotFound(c.Delete(ctx, probe))
	})
	return policy
}
