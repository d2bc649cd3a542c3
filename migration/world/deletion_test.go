package world

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestOwnsClaims: a claim is owned only by the StatefulSet with the UID of its owner reference.
func TestOwnsClaims(t *testing.T) {
	ownedBy := func(uid types.UID) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web", UID: uid}}}}
	}
	f := &observed{set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, claims: map[string]*corev1.PersistentVolumeClaim{
		"b": ownedBy("u"), "a": ownedBy("u"), "former": ownedBy("another"), "free": {},
	}}
	if got, want := f.ownsClaims(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
