package engine

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/queue"
)

const westKubeconfig = `apiVersion: v1
kind: Config
current-context: west
clusters: [{name: west, cluster: {server: "https://west.invalid:1"}}]
users: [{name: mover, user: {token: secret}}]
contexts: [{name: west, context: {cluster: west, user: mover}}]
`

// desk is a Reconciler that allows one active Migration for each destination, without clusters.
type desk struct {
	*Reconciler
	t *testing.T
	// secrets counts the Secrets that were read.
	secrets int
}

func newDesk(t *testing.T, all ...client.Object) *desk {
	t.Helper()
	d := &desk{t: t}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "west"}, Data: map[string][]byte{"value": []byte(westKubeconfig)}}
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(append(all, secret)...).WithStatusSubresource(&api.Migration{}).
		WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, is := object.(*corev1.Secret); is {
				d.secrets++
			}
			return c.Get(ctx, key, object, options...)
		}}).Build()
	pool := clusters.NewPool(1 << 20)
	d.Reconciler = &Reconciler{
		Client: c, Live: c, Events: events.NewFakeRecorder(100), Holder: "test", queue: priorityqueue.New[reconcile.Request]("test"),
		Connector: &Connector{Secrets: c, Local: &rest.Config{Host: "https://east.invalid:1"}, DefaultServiceAccount: "default", Pool: pool},
		engines:   map[types.NamespacedName]*driven{}, rota: queue.NewRota(5), doubts: newDoubts(10), silences: newSilences(), line: queue.NewLine(1, 1),
		followed: metrics.NewMigrations(clock.RealClock{}),
	}
	t.Cleanup(d.queue.ShutDown)
	return d
}

// west returns a Migration to the cluster of Secret west.
func west(name string, second int64, changes ...func(*api.Migration)) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(second, 0), Generation: 1}}
	m.Spec.Source.Name, m.Spec.Mode = name, api.ModeRun
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	for _, change := range changes {
		change(m)
	}
	return m
}

func hasBegun(m *api.Migration) { m.Status.Baseline = &api.Baseline{Replicas: 1} }

func waitsForWindow(m *api.Migration) {
	condition(m, api.ConditionProgressing, metav1.ConditionFalse, api.ReasonOutsideWindow, "it opens at night")
}

func isStalled(m *api.Migration) {
	condition(m, api.ConditionStalled, metav1.ConditionTrue, api.ReasonSourceMissing, "it is gone")
}

func (d *desk) reconcile(name string) reconcile.Result {
	d.t.Helper()
	result, err := d.Reconcile(d.t.Context(), reconcile.Request{NamespacedName: named(name)})
	if err != nil {
		d.t.Fatal(err)
	}
	return result
}

func (d *desk) get(name string) *api.Migration {
	d.t.Helper()
	m := &api.Migration{}
	if err := d.Client.Get(d.t.Context(), named(name), m); err != nil {
		d.t.Fatal(err)
	}
	return m
}

// says returns the progress that a Migration's status has.
func (d *desk) says(name string) string {
	d.t.Helper()
	found := meta.FindStatusCondition(d.get(name).Status.Conditions, api.ConditionProgressing)
	if found == nil {
		return ""
	}
	return found.Reason + ": " + found.Message
}

// inLine reports whether a Migration has a place, or waits for one.
func (d *desk) inLine(name string) bool {
	d.t.Helper()
	_, _, found := d.line.Known(queue.TicketOf(d.get(name), ""))
	return found
}

// expectCalled checks that exactly these Migrations were called.
func (d *desk) expectCalled(names ...string) {
	d.t.Helper()
	if n := d.queue.Len(); n != len(names) {
		d.t.Fatalf("%d are called, want %v", n, names)
	}
	for _, name := range names {
		if got, _ := d.queue.Get(); got.Name != name {
			d.t.Errorf("%s is called, want %s", got, name)
		}
	}
}

// TestQueue: a Migration without a place reports that at once. It sends no request to a cluster, reads its
// Secret once, and is called when its turn has come. If it is refused then, deleted or paused, the next one
// gets the place.
func TestQueue(t *testing.T) {
	d := newDesk(t, west("begun", 1, hasBegun), west("c", 4), west("b", 3), west("a", 2))
	for _, one := range []struct{ name, stands string }{{"c", "first of 1"}, {"b", "first of 2"}, {"a", "first of 3"}} {
		if after := d.reconcile(one.name).RequeueAfter; after != queue.Pause {
			t.Errorf("%s is looked at again after %s", one.name, after)
		}
		if got, want := d.says(one.name), "Queued: "+one.stands+" in line for cluster west: 1 Migration to it is active, at most 1 at once"; got != want {
			t.Errorf("%s says %q, want %q", one.name, got, want)
		}
	}
	read, version := d.secrets, d.get("c").ResourceVersion
	if after := d.reconcile("c").RequeueAfter; after <= 0 || after > queue.Pause {
		t.Errorf("it is looked at again after %s", after)
	}
	if d.secrets != read || d.get("c").ResourceVersion != version {
		t.Errorf("%d Secrets are read, and its status is written: %s", d.secrets-read, d.says("c"))
	}
	if len(d.engines) > 0 {
		t.Errorf("%d are connected", len(d.engines))
	}
	d.expectCalled()
	d.must(d.Client.Delete(t.Context(), d.get("begun")))
	d.reconcile("begun")
	d.expectCalled("a")
	d.must(d.Client.Delete(t.Context(), d.get("a")))
	d.reconcile("a")
	d.expectCalled("b")
	d.must(d.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "west"}}))
	d.reconcile("b")
	if m := d.get("b"); !stalled(m) {
		t.Errorf("it is not refused: %+v", m.Status)
	}
	d.expectCalled("c")
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestSeed: a manager that takes over lets no Migration begin before it has counted those that have begun. One
// that waits for a user does not count.
func TestSeed(t *testing.T) {
	for name, tc := range map[string]struct {
		other *api.Migration
		waits bool
	}{
		"begun":         {west("other", 1, hasBegun), true},
		"younger":       {west("other", 9, hasBegun), true},
		"not begun":     {west("other", 1), false},
		"stalled":       {west("other", 1, hasBegun, isStalled), false},
		"paused":        {west("other", 1, hasBegun, func(m *api.Migration) { m.Spec.Mode = api.ModePause }), false},
		"its window":    {west("other", 1, hasBegun, waitsForWindow), false},
		"not yet still": {west("other", 1, hasBegun, func(m *api.Migration) { m.Spec.Mode, m.Status.Handoff = api.ModePause, &api.Handoff{} }), true},
		"recovers":      {west("other", 1, hasBegun, func(m *api.Migration) { m.Spec.Mode = api.ModeRecover }), false},
		"rolls back":    {west("other", 1, hasBegun, func(m *api.Migration) { m.Spec.Mode = api.ModeRollback }), true},
		"at its end": {west("other", 1, hasBegun, func(m *api.Migration) {
			condition(m, api.ConditionCompleted, metav1.ConditionTrue, api.ReasonMoved, "")
		}), false},
		"elsewhere": {west("other", 1, hasBegun, func(m *api.Migration) { m.Spec.Destination.KubeConfigSecretRef = nil }), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tc.other, west("new", 5))
			d.must(d.seed(t.Context()))
			hold, err := d.turn(t.Context(), d.get("new"))
			if err != nil || (hold != nil) != tc.waits {
				t.Errorf("it waits: %+v (%v)", hold, err)
			}
		})
	}
}

// TestStalledInLine: a stalled Migration keeps no place, is still checked, and may not begin out of turn.
// Without a limit there is no line.
func TestStalledInLine(t *testing.T) {
	d := newDesk(t, west("stalled", 1, isStalled), west("next", 2))
	m := d.get("stalled")
	if hold, err := d.turn(t.Context(), m); hold != nil || err != nil {
		t.Fatalf("nobody else is there, and it may not begin: %+v (%v)", hold, err)
	}
	if hold, _ := d.turn(t.Context(), d.get("next")); hold == nil {
		t.Error("both may begin")
	}
	d.settle(m, false)
	d.expectCalled("next")
	if hold, _ := d.turn(t.Context(), d.get("next")); hold != nil {
		t.Errorf("it may not begin: %+v", hold)
	}
	if hold, _ := d.turn(t.Context(), m); hold == nil || hold.Stalled {
		t.Errorf("both may begin: %+v", hold)
	}
	if d.inLine("stalled") || !d.inLine("next") {
		t.Error("a stalled one is in line, or another one is not")
	}
	d.line = queue.NewLine(0, 0)
	if hold, err := d.turn(t.Context(), m); hold != nil || err != nil || d.inLine("stalled") {
		t.Errorf("there is a line: %+v (%v)", hold, err)
	}
}

// TestPlaceIsGivenUp: a Migration that is refused, paused, or whose status cannot be written gives its place
// back.
func TestPlaceIsGivenUp(t *testing.T) {
	paused := func(m *api.Migration) { m.Spec.Mode = api.ModePause }
	for name, tc := range map[string]struct {
		change func(*api.Migration)
		failed bool
		keeps  bool
	}{
		"it is looked at": {func(*api.Migration) {}, false, true},
		"refused":         {isStalled, false, false},
		"paused":          {paused, false, false},
		"not written":     {func(*api.Migration) {}, true, false},
		"begun":           {hasBegun, false, true},
		"begun, failed":   {hasBegun, true, true},
		"begun, stalled":  {func(m *api.Migration) { hasBegun(m); isStalled(m) }, false, false},
		"begun, paused":   {func(m *api.Migration) { hasBegun(m); paused(m) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, west("one", 1), west("next", 2))
			m := d.get("one")
			for _, each := range []*api.Migration{m, d.get("next")} {
				if _, err := d.turn(t.Context(), each); err != nil {
					t.Fatal(err)
				}
			}
			tc.change(m)
			d.settle(m, tc.failed)
			if tc.keeps {
				d.expectCalled()
			} else {
				d.expectCalled("next")
			}
		})
	}
}

// TestOneDestination: the local cluster is one destination, regardless of the ServiceAccount.
func TestOneDestination(t *testing.T) {
	local := func(m *api.Migration) { m.Spec.Destination.KubeConfigSecretRef = nil }
	d := newDesk(t)
	of := func(m *api.Migration) string {
		_, key, err := d.Connector.keys(t.Context(), m)
		d.must(err)
		return destinationOf(key)
	}
	if got := of(west("a", 1, local)); got != localName {
		t.Errorf("it leads to %q", got)
	}
	elsewhere := func(m *api.Migration) { m.Namespace, m.Spec.ServiceAccountName = "bank", "mover" }
	if got := of(west("a", 1, local, elsewhere)); got != localName {
		t.Errorf("from another namespace it leads to %q", got)
	}
	if got := of(west("a", 1)); got == localName || got == "" || got != of(west("b", 2)) {
		t.Errorf("with one Secret they lead to %q and %q", got, of(west("b", 2)))
	}
	anotherToken := strings.Replace(westKubeconfig, "token: secret", "token: another", 1)
	d.must(d.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "west"}, Data: map[string][]byte{"value": []byte(anotherToken)}}))
	if got := of(west("a", 1, elsewhere)); got != of(west("a", 1)) {
		t.Errorf("whoever goes to a cluster makes it %q", got)
	}
	if got := of(west("a", 1, hasBegun, func(m *api.Migration) { m.Spec.Mode = api.ModeRecover })); got != "" {
		t.Errorf("one that recovers leads to %q", got)
	}
	if a, b := destinationName(west("a", 1)), destinationName(west("a", 1, local)); a != "west" || b != localName {
		t.Errorf("they are called %s and %s", a, b)
	}
}
