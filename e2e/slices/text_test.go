package slices

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// These tests write sets in every way that a user has, and then apply a manifest that is text.

// textClaim is a claim template as a manifest has it. Its request has other units than the API server's notation.
const textClaim = `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`

// text returns a manifest in the notation of a user, with edits.
func text(t testing.TB, apiVersion, namespace string, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return manifest(t, apiVersion, namespace, append([]edit{put("spec.volumeClaimTemplates", "["+textClaim+"]"), put("spec.minReadySeconds", "5"), put("spec.template.metadata.annotations", "{note: one}")}, edits...)...)
}

// writer writes a manifest in one way. It creates the object if there is none.
type writer func(ctx context.Context, object *unstructured.Unstructured) error

// writers are the ways to write a manifest.
var writers = map[string]writer{
	"kubectl apply":     applyByClient,
	"server-side apply": applyByServer,
	"kubectl replace":   replace,
}

// applyByServer applies a manifest as Helm 4, Flux and kubectl apply --server-side do, without force.
func applyByServer(ctx context.Context, object *unstructured.Unstructured) error {
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("helm"))
}

// applyByClient applies a manifest as kubectl apply does (kubectl pkg/cmd/apply/patcher.go, for kinds without a Go type).
func applyByClient(ctx context.Context, object *unstructured.Unstructured) error {
	const manager = client.FieldOwner("kubectl-client-side-apply")
	annotate := func(o *unstructured.Unstructured) error {
		applied, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[corev1.LastAppliedConfigAnnotation] = string(applied)
		o.SetAnnotations(annotations)
		return nil
	}
	modified := object.DeepCopy()
	if err := annotate(modified); err != nil {
		return err
	}
	live, err := current(ctx, object)
	if err != nil {
		return err
	}
	if live == nil {
		return api.Create(ctx, modified, manager)
	}
	next, err := modified.MarshalJSON()
	if err != nil {
		return err
	}
	now, err := live.MarshalJSON()
	if err != nil {
		return err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), next, now)
	if err != nil {
		return err
	}
	return api.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), manager)
}

// replace writes a manifest as kubectl replace does, and creates it before. It tries again after a conflict, because a
// controller writes the status at the same time.
func replace(ctx context.Context, object *unstructured.Unstructured) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := current(ctx, object)
		if err != nil {
			return err
		}
		next := object.DeepCopy()
		if live == nil {
			return api.Create(ctx, next, client.FieldOwner("kubectl-create"))
		}
		next.SetResourceVersion(live.GetResourceVersion())
		return api.Update(ctx, next, client.FieldOwner("kubectl-replace"))
	})
}

// current reads the object of a manifest; nil if there is none.
func current(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	err := api.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is "there is none"
	}
	return live, err
}

// storedForms are the ways in which clients of any version store the same set.
var storedForms = map[string]string{
	"text":                   textClaim,
	"a typed client":         `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {}}`,
	"copied from apps/v1":    `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}`,
	"with empty values":      `{metadata: {name: data, labels: {}, annotations: {}}, spec: {accessModes: [ReadWriteOnce], volumeName: "", resources: {requests: {storage: 1Gi}, limits: {}}}}`,
	"with a number of bytes": `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1073741824}}}}`,
}

// TestY1TextAfterEveryForm: a manifest can be applied to a set in whatever form it is stored, by every way and in either
// kind. A claim template that means something else is refused.
func TestY1TextAfterEveryForm(t *testing.T) {
	t.Parallel()
	for stored, claim := range storedForms {
		for by, write := range writers {
			t.Run(stored+", then "+by, func(t *testing.T) {
				t.Parallel()
				for _, apiVersion := range []string{quiet(t), native} {
					namespace := newNamespace(t)
					mustCreate(t, text(t, apiVersion, namespace, put("spec.volumeClaimTemplates", "["+claim+"]")), client.FieldOwner("helm"))
					if by == "server-side apply" { // the creator is another manager
						mustGiveUp(t, apiVersion, namespace)
					}
					if err := write(bounded(t), text(t, apiVersion, namespace, put("spec.template.metadata.annotations", "{note: two}"))); err != nil {
						t.Errorf("%s: %v", apiVersion, err)
					}
					other := text(t, apiVersion, namespace, put("spec.volumeClaimTemplates.0.spec.storageClassName", "fast"))
					if err := write(bounded(t), other); !apierrors.IsInvalid(err) {
						t.Errorf("%s: another class: %v", apiVersion, err)
					}
				}
			})
		}
	}
}

// mustGiveUp lets no manager but the API server itself own the fields of a set.
func mustGiveUp(t *testing.T, apiVersion, namespace string) {
	t.Helper()
	object := manifest(t, apiVersion, namespace)
	patch := `{"metadata":{"managedFields":[{"manager":"nobody","operation":"Update","apiVersion":"` + apiVersion + `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}]}}`
	if err := api.Patch(bounded(t), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// TestY1TypedClient: a manifest can be applied to a set that a client with our Go type has created.
func TestY1TypedClient(t *testing.T) {
	for by, write := range writers {
		t.Run(by, func(t *testing.T) {
			p := newPlay(t, withClaim(slice(0)))
			p.must(api.Create(p.ctx, p.set, client.FieldOwner("typed")))
			stored, err := current(p.ctx, manifest(t, ours, p.set.Namespace))
			p.must(err)
			for _, field := range []string{"apiVersion", "kind", "status"} {
				templates, _ := at(stored, "spec.volumeClaimTemplates").([]any)
				if value, found := templates[0].(map[string]any)[field]; found {
					t.Errorf("the claim template has %s: %v", field, value)
				}
			}
			if by != "server-side apply" { // another manager conflicts there
				p.must(write(p.ctx, text(t, ours, p.set.Namespace)))
			}
		})
	}
}

// TestY1Y9AdoptThenApply: after the adoption of a set that was written in any way, its manifest, which is text, is applied in
// the same way: without force, and without what it no longer has. So is the manifest of apps/v1 after the way back.
func TestY1Y9AdoptThenApply(t *testing.T) {
	harness.Program(t, "migrate") // the time to build it is none of the plays'
	for by, write := range writers {
		t.Run(by, func(t *testing.T) {
			p := newPlay(t, slice(0))
			namespace := p.set.Namespace
			p.must(write(p.ctx, text(t, native, namespace)))
			p.step("to ours", func(t *testing.T) {
				p.settledAs(native)
				p.adopt()
				p.must(write(p.ctx, text(t, ours, namespace, drop("spec.minReadySeconds"), drop("spec.template.metadata.annotations"), put("spec.template.spec.containers.0.image", "web:2"))))
				p.has(ours, "web:2")
			})
			p.step("and back", func(t *testing.T) {
				p.must(write(p.ctx, text(t, ours, namespace)))
				p.settledAs(ours)
				p.adopt("--to", "apps")
				p.must(write(p.ctx, text(t, native, namespace, drop("spec.minReadySeconds"), drop("spec.template.metadata.annotations"), put("spec.template.spec.containers.0.image", "web:3"))))
				p.has(native, "web:3")
			})
		})
	}
}

// TestY9OthersKeepTheirFields: after an adoption the replicas that a user has set by scaling are not those of the manifest.
func TestY9OthersKeepTheirFields(t *testing.T) {
	p := newPlay(t, slice(0))
	without := drop("spec.replicas")
	first := text(t, native, p.set.Namespace, without)
	p.must(applyByServer(p.ctx, first))
	p.must(patchScale(t, first, `{"spec":{"replicas":0}}`))
	p.settledAs(native)
	p.adopt()
	p.must(applyByServer(p.ctx, text(t, ours, p.set.Namespace, without, put("spec.template.metadata.annotations", "{note: two}"))))
	live, err := current(p.ctx, manifest(t, ours, p.set.Namespace))
	p.must(err)
	if got := at(live, "spec.replicas"); got != int64(0) {
		t.Errorf("replicas %v", got)
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == "sliceshift" {
			t.Errorf("the command still manages %s", entry.FieldsV1.GetRawString())
		}
	}
}

// settledAs waits until the controller of a kind has seen the set, so that the command adopts it.
func (p *play) settledAs(apiVersion string) {
	p.t.Helper()
	p.eventually("the controller has seen it", func() bool {
		live, err := current(p.ctx, manifest(p.t, apiVersion, p.set.Namespace))
		return err == nil && live != nil && number(live, "status.observedGeneration", 0) >= live.GetGeneration() &&
			at(live, "status.currentRevision") == at(live, "status.updateRevision") && number(live, "status.replicas", 0) == number(live, "spec.replicas", 1)
	})
}

// adopt runs the command for the set.
func (p *play) adopt(more ...string) {
	p.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(p.ctx, harness.Program(p.t, "migrate"), append([]string{"adopt", "web", "-n", p.set.Namespace, "--kubeconfig", embedded.Kubeconfig()}, more...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.t.TempDir(), &out, &out
	p.must(child.Start(cmd))
	if err := cmd.Wait(); err != nil || bytes.Contains(out.Bytes(), []byte("warning: the fields")) {
		p.t.Fatalf("%v: %s", err, out.String())
	}
}

// has checks that the set has the image, and no field that its manifest no longer has.
func (p *play) has(apiVersion, image string) {
	p.t.Helper()
	live, err := current(p.ctx, manifest(p.t, apiVersion, p.set.Namespace))
	p.must(err)
	containers, _ := at(live, "spec.template.spec.containers").([]any)
	if len(containers) != 1 || containers[0].(map[string]any)["image"] != image {
		p.t.Errorf("containers %v, want image %s", containers, image)
	}
	if left := fmt.Sprint(number(live, "spec.minReadySeconds", 0), at(live, "spec.template.metadata.annotations")); left != "0 <nil>" && left != "0 map[]" {
		p.t.Errorf("minReadySeconds and annotations %s are left", left)
	}
}

// TestY1GrowthInOtherUnits: with a strategy, the same size in other units is no growth, and a larger one is.
func TestY1GrowthInOtherUnits(t *testing.T) {
	object := text(t, quiet(t), newNamespace(t), onRolling)
	mustCreate(t, object)
	request := func(size string) edit {
		return put("spec.volumeClaimTemplates.0.spec.resources.requests.storage", size)
	}
	for _, size := range []string{"1Gi", "1024Mi", "1073741824", "1.5Gi"} {
		if err := update(t, object, request(size)); err != nil {
			t.Errorf("%s: %v", size, err)
		}
	}
	for _, size := range []string{"1000Mi", "1G"} {
		wantRefused(t, update(t, object, request(size)), "may only grow")
	}
}
