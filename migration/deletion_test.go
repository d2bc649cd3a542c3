package migration

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestOwnedClaimsStay: a StatefulSet that owns claims is deleted without them (G7), and one
// that owns none with its ControllerRevisions.
func TestOwnedClaimsStay(t *testing.T) {
	for name, tc := range map[string]struct {
		owns []string
		want metav1.DeletionPropagation
	}{
		"none":                    {nil, metav1.DeletePropagationBackground},
		"one beyond the replicas": {[]string{"data-web-7"}, metav1.DeletePropagationOrphan},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, scenario{replicas: 2, templates: []string{"data"}, spec: Spec{DeleteSource: true}})
			y.until(DeleteSet, 1)
			y.state.Source.Set.OwnsClaims = tc.owns
			if next := y.next(); next.Effect == nil || next.Effect.Verb != DeleteSet || next.Effect.Propagation != tc.want {
				t.Errorf("the source: got %+v, want %s", next.Effect, tc.want)
			}
			y = newPlay(t, scenario{replicas: 2, templates: []string{"data"}})
			y.until(ScaleDown, 1)
			y.state.Spec.Mode = api.ModeRollback
			y.version++
			y.until(DeleteSet, 1)
			y.state.Destination.Set.OwnsClaims = tc.owns
			if next := y.next(); next.Effect == nil || next.Effect.Side != DestinationSide || next.Effect.Propagation != tc.want {
				t.Errorf("the destination: got %+v, want %s", next.Effect, tc.want)
			}
		})
	}
}

// TestOwnsClaims: a claim is owned by the very StatefulSet whose UID it names.
func TestOwnsClaims(t *testing.T) {
	ownedBy := func(uid types.UID) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web", UID: uid}}}}
	}
	f := &found{set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, claims: map[string]*corev1.PersistentVolumeClaim{
		"b": ownedBy("u"), "a": ownedBy("u"), "former": ownedBy("another"), "free": {},
	}}
	if got, want := f.ownsClaims(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
