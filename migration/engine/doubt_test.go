package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestK2Doubts: Migrations whose clusters have not answered hold half of the workers, in any number of
// namespaces. A waiting one gets its turn.
func TestK2Doubts(t *testing.T) {
	at := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	d := newDoubts(5)
	for _, first := range []types.NamespacedName{at("a", "1"), at("b", "1")} {
		if !d.begin(first, urgencyNone) {
			t.Fatalf("%s has no turn", first)
		}
	}
	for _, late := range []types.NamespacedName{at("a", "2"), at("c", "1")} {
		if d.begin(late, urgencyNone) {
			t.Fatalf("%s has a turn", late)
		}
	}
	if _, _, found := d.end(at("c", "1")); found {
		t.Error("who has no turn has ended one")
	}
	if next, _, found := d.end(at("b", "1")); !found || next != at("a", "2") {
		t.Errorf("then %s is to come", next)
	}
	if !d.begin(at("a", "2"), urgencyNone) || d.begin(at("b", "1"), urgencyNone) {
		t.Error("the turn is not that of who was to come")
	}
}

// TestK2Doubtful: clusters of kubeconfigs are in doubt until they have answered, and again after they did not.
func TestK2Doubtful(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	remote := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	remote.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	local := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for name, tc := range map[string]struct {
		m     *api.Migration
		known *driven
		want  bool
	}{
		"new":                {remote, nil, true},
		"in its own cluster": {local, nil, false},
		"it has answered":    {remote, &driven{heard: true}, false},
		"it does not answer": {remote, &driven{}, true},
		"it is gone":         {&api.Migration{}, nil, false},
	} {
		r := &Reconciler{engines: map[types.NamespacedName]*driven{}}
		if tc.known != nil {
			r.engines[key] = tc.known
		}
		if got := r.doubtful(tc.m); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestK2TurnsOfTheSilent: the workers for Migrations whose clusters do not answer are bounded, in any number of
// namespaces. Other Migrations still begin.
func TestK2TurnsOfTheSilent(t *testing.T) {
	d := newDesk(t)
	d.doubts = newDoubts(4)
	begins := func(namespace string, changes ...func(*api.Migration)) bool {
		m := west("web", 1, changes...)
		m.Namespace = namespace
		return d.begin(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)}, m, urgencyNone)
	}
	local := func(m *api.Migration) { m.Spec.Destination.KubeConfigSecretRef = nil }
	if !begins("a") || !begins("b") || begins("c") || begins("d") {
		t.Error("of four that are silent it is not the turn of two")
	}
	d.engines[types.NamespacedName{Namespace: "e", Name: "web"}] = &driven{heard: true}
	if !begins("e") || !begins("f", local) {
		t.Error("those that answer do not begin")
	}
	d.end(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "web"}})
	if !begins("c") {
		t.Error("one has ended its turn, and the next does not begin")
	}
}
