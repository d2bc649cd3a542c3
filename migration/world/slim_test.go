package world

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
)

// filled returns an object with every field filled, or left out, and its annotations as migrations write them.
func filled[T any, P endpoint.Object[T]](t *rapid.T, name string) P {
	object := P(new(T))
	value := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "value") }
	randfill.NewWithSeed(rapid.Int64().Draw(t, "seed")).NilChance(0.1).NumElements(1, 2).Funcs(
		func(at *metav1.Time, _ randfill.Continue) {
			*at = metav1.Unix(rapid.Int64Range(0, 100).Draw(t, "time"), 0)
		},
		func(q *resource.Quantity, _ randfill.Continue) { *q = *resource.NewQuantity(1, resource.BinarySI) },
		func(raw *runtime.RawExtension, _ randfill.Continue) { raw.Raw = []byte("{}") },
		func(f *metav1.FieldsV1, _ randfill.Continue) {
			f.SetRawBytes([]byte(value(`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:maxUnavailable":{}}}`, `{"f:metadata":{}}`)))
		},
	).Fill(object)
	object.SetNamespace("shop")
	object.SetName(name)
	annotations := map[string]string{"team": "x", corev1.LastAppliedConfigAnnotation: "long"}
	for _, key := range []string{
		api.OwnerAnnotationKey, api.FenceAnnotationKey, api.OriginalReclaimPolicyAnnotationKey, api.BudgetAnnotationKey, api.TemplateAnnotationKey,
		api.ReleasedAnnotationKey, api.SealAnnotationKey, api.VolumeThereAnnotationKey, slicesapi.InPlaceUpdateAnnotationKey, slicesapi.SpecifiedDeleteKey,
	} {
		if rapid.Bool().Draw(t, "annotated") {
			annotations[key] = value("m", "m 1", "Delete m", "true")
		}
	}
	object.SetAnnotations(annotations)
	object.SetLabels(map[string]string{"app": value("web", "db")})
	object.SetOwnerReferences([]metav1.OwnerReference{{Kind: value("StatefulSet", "Pod"), Name: "web", UID: types.UID(value("set", "other")), Controller: new(true)}})
	fields := object.GetManagedFields()
	for i := range fields {
		fields[i].Manager, fields[i].Subresource = value(api.FieldManager, "kubectl"), value("", "status")
	}
	object.SetManagedFields(fields)
	return object
}

// slimmed returns an object as a view keeps it.
func slimmed[T any, P endpoint.Object[T]](object *T) *T {
	kept, _ := P(object).DeepCopyObject().(P)
	slim.Down(kept)
	return (*T)(kept)
}

// TestSlim: fields that a view drops do not change an observation.
func TestSlim(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := migrating()
		full := &observed{
			endpoint: endpoint.Endpoint{Namespace: "shop", Set: "web", APIVersion: workload.SliceVersion}, now: time.Unix(50, 0),
			pods:    []corev1.Pod{*filled[corev1.Pod](r, "web-0"), *filled[corev1.Pod](r, "backup")},
			claims:  map[string]*corev1.PersistentVolumeClaim{"data-web-0": filled[corev1.PersistentVolumeClaim](r, "data-web-0")},
			volumes: map[string]*corev1.PersistentVolume{"pv": filled[corev1.PersistentVolume](r, "pv")},
		}
		object, budget := filled[slicesapi.StatefulSet](r, "web"), filled[policyv1.PodDisruptionBudget](r, "web")
		object.UID, object.Spec.Template.Labels = "set", map[string]string{"app": "web"}
		object.Spec.Template.Spec = corev1.PodSpec{}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		full.object, full.budgets = object, []policyv1.PodDisruptionBudget{*budget}
		if len(full.pods[0].Spec.Volumes) > 0 {
			full.pods[0].Spec.Volumes[0].PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}
			full.pods[1].Spec.Volumes = full.pods[0].Spec.Volumes
		}
		kept := *full
		kept.pods = []corev1.Pod{*slimmed(&full.pods[0]), *slimmed(&full.pods[1])}
		kept.claims = map[string]*corev1.PersistentVolumeClaim{"data-web-0": slimmed(full.claims["data-web-0"])}
		kept.volumes = map[string]*corev1.PersistentVolume{"pv": slimmed(full.volumes["pv"])}
		kept.object, kept.budgets = slimmed(object), []policyv1.PodDisruptionBudget{*slimmed(budget)}
		for _, f := range []*observed{full, &kept} {
			set, err := endpoint.AsSet(f.object)
			if err != nil {
				r.Fatal(err)
			}
			f.set = set
		}
		if diff := cmp.Diff(sideOf(m, full), sideOf(m, &kept)); diff != "" {
			r.Fatalf("the side looks different (-full +kept):\n%s", diff)
		}
		if diff := cmp.Diff(holdingOf(m, full, 0, "data", "pv"), holdingOf(m, &kept, 0, "data", "pv")); diff != "" {
			r.Fatalf("the volume looks different (-full +kept):\n%s", diff)
		}
		volume, slim := full.volumes["pv"], kept.volumes["pv"]
		for _, policy := range []volumes.Policy{{}, {Paths: true}, {Drivers: []string{"csi"}}, volumes.Unrestricted()} {
			if diff := cmp.Diff(policy.Bars(volume, volumes.Use{Shared: true}), policy.Bars(slim, volumes.Use{Shared: true})); diff != "" {
				r.Fatalf("it is barred otherwise: %s", diff)
			}
		}
		if !slices.Equal(disk.Filed(volume), disk.Filed(slim)) || !slices.Equal(disk.Sought(volume), disk.Sought(slim)) || volumes.Handle(volume) != volumes.Handle(slim) {
			r.Fatal("it is another disk")
		}
		attachment := filled[storagev1.VolumeAttachment](r, "va")
		if kept := slimmed(attachment); kept.Name != "va" || kept.Spec.NodeName != attachment.Spec.NodeName || cmp.Diff(kept.Spec.Source.PersistentVolumeName, attachment.Spec.Source.PersistentVolumeName) != "" {
			r.Fatalf("the attachment looks different: %+v", kept)
		}
		if diff := cmp.Diff(templateChange(full.set, &appsv1.StatefulSet{}), templateChange(kept.set, &appsv1.StatefulSet{})); diff != "" {
			r.Fatalf("the template looks different: %s", diff)
		}
	})
}

// TestSlimKeepsItself: slimming a slim object changes nothing, and no kind then keeps more than before.
func TestSlimKeepsItself(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		for _, object := range []client.Object{
			filled[corev1.Pod](r, "web-0"), filled[corev1.PersistentVolumeClaim](r, "data-web-0"), filled[corev1.PersistentVolume](r, "pv"),
			filled[storagev1.VolumeAttachment](r, "va"), filled[corev1.Service](r, "web"), filled[policyv1.PodDisruptionBudget](r, "web"), filled[appsv1.StatefulSet](r, "web"),
		} {
			slim.Down(object)
			once := object.DeepCopyObject()
			slim.Down(object)
			if diff := cmp.Diff(once, object, cmpopts.IgnoreUnexported(metav1.FieldsV1{})); diff != "" {
				r.Fatalf("%T is slimmed again:\n%s", object, diff)
			}
			if _, found := object.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found {
				r.Fatalf("%T keeps its last applied configuration", object)
			}
		}
	})
}
