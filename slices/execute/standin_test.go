package execute

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

func get(t *testing.T, h *PodControl, o client.Object) error {
	t.Helper()
	return h.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
}

func podOne() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
}

// TestCreateStandIn: a surge pod owns its claims, and is not created if other claims exist.
func TestCreateStandIn(t *testing.T) {
	create := []decide.Action{{Verb: decide.Create, Ordinal: 1, Revision: "r1"}}
	t.Run("X-12 its claims are its own", func(t *testing.T) {
		h, _ := newControl(t, interceptor.Funcs{})
		h.Set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		if err := h.all(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		pod, claim := podOne(), slicetest.Marked()
		if err := get(t, h, pod); err != nil {
			t.Fatal(err)
		}
		if err := get(t, h, claim); err != nil || claim.Annotations["note"] != "kept" || claim.Annotations[api.SurgeAnnotationKey] == "" || len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].Kind != "Pod" {
			t.Errorf("claim %+v, %v", claim.ObjectMeta, err)
		}
	})
	t.Run("X-12 a claim that the cache does not show", func(t *testing.T) {
		claim := slicetest.Marked()
		claim.Annotations = nil
		h, ears := newControl(t, interceptor.Funcs{}, claim)
		if err := h.all(t.Context(), create); !apierrors.IsConflict(err) || len(ears.Lines) > 0 {
			t.Errorf("error %v, events %v", err, ears.Lines)
		}
		if err := get(t, h, podOne()); !apierrors.IsNotFound(err) {
			t.Errorf("it stands in with somebody's data: %v", err)
		}
	})
}

// TestClaimsOfAStandIn: missing claims of a surge pod are created, and become the ordinal's together with the pod.
func TestClaimsOfAStandIn(t *testing.T) {
	t.Run("X-12 a claim that cannot be made is tried again beside the pod", func(t *testing.T) {
		pod := podOne()
		pod.UID, pod.Labels = "u", observe.IdentityLabels("web", 1)
		h, _ := newControl(t, interceptor.Funcs{}, pod)
		h.pods[1] = pod
		if err := h.all(t.Context(), []decide.Action{{Verb: decide.CreateClaims, Ordinal: 1, UID: "u"}}); err != nil {
			t.Fatal(err)
		}
		if claim := slicetest.Marked(); get(t, h, claim) != nil || !metav1.IsControlledBy(claim, pod) || !slicetest.IsMarked(claim) {
			t.Errorf("claim %+v", claim.ObjectMeta)
		}
	})
	t.Run("X-12 the ordinal comes to be the set's: its claims do, too", func(t *testing.T) {
		pod := podOne()
		pod.UID, pod.Labels = "u", observe.IdentityLabels("web", 1)
		h, _ := newControl(t, interceptor.Funcs{}, pod, slicetest.Marked("u"))
		h.Set.Spec.Replicas = new(int32(2))
		claim := slicetest.Marked()
		if err := get(t, h, claim); err != nil {
			t.Fatal(err)
		}
		h.pods[1], h.Claims[claim.Name] = pod, claim
		if observe.ClaimMatches(h.Set, claim, pod, true) {
			t.Error("nothing is to be done")
		}
		if err := h.all(t.Context(), []decide.Action{{Verb: decide.OwnClaims, Ordinal: 1, UID: "u"}}); err != nil {
			t.Fatal(err)
		}
		if err := get(t, h, claim); err != nil || len(claim.OwnerReferences) > 0 || slicetest.IsMarked(claim) {
			t.Errorf("claim %+v: %v", claim.ObjectMeta, err)
		}
	})
}
