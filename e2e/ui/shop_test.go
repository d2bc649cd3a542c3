package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/docs"
	"github.com/sliceshift/sliceshift/e2e/harness"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// shop is a namespace with Migrations that nobody drives: their status is what a test has written.
type shop struct {
	*testing.T
	client    client.Client
	namespace string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	return shopNamed(t, "t-"+rand.String(8))
}

func shopNamed(t *testing.T, namespace string) *shop {
	t.Helper()
	c, err := harness.Client(harness.East())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return &shop{t, c, namespace}
}

// keep writes Migrations with their status.
func (s *shop) keep(migrations ...*api.Migration) {
	s.Helper()
	for _, m := range migrations {
		possible(s.T, m)
		m.Namespace = s.namespace
		status := m.Status
		if err := s.client.Create(s.Context(), m); err != nil {
			s.Fatal(err)
		}
		m.Status = status
		if err := s.client.Status().Update(s.Context(), m); err != nil {
			s.Fatal(err)
		}
	}
}

// possible fails where a Migration of a picture is in a state that the product cannot have: a reason that nobody declares, ordinals that
// are nowhere or twice, or more replicas that may be down than its budget.
func possible(t *testing.T, m *api.Migration) {
	t.Helper()
	for _, c := range m.Status.Conditions {
		if c.Reason != "" && !strings.Contains(docs.Runbook, "\n### "+c.Reason+"\n") {
			t.Errorf("V12: %s: no reason is called %s", m.Name, c.Reason)
		}
	}
	base, from, to := m.Status.Baseline, m.Status.Source, m.Status.Destination
	if base == nil || from == nil || to == nil {
		return
	}
	has := func(side *api.SliceStatus, ordinal int32) bool {
		return side.Start <= ordinal && ordinal < side.Start+side.Replicas
	}
	away := int32(0)
	if h := m.Status.Handoff; h != nil && !has(from, h.Ordinal) && !has(to, h.Ordinal) {
		away = 1
	}
	if all := from.Replicas + to.Replicas + away; all != base.Replicas {
		t.Errorf("V12: %s: %d of %d ordinals are somewhere", m.Name, all, base.Replicas)
	}
	down := away + from.Replicas - from.Available + to.Replicas - to.Available
	for _, side := range []*api.SliceStatus{from, to} {
		if side.MaxUnavailable != nil && *side.MaxUnavailable > side.Replicas-side.Available {
			down += *side.MaxUnavailable - (side.Replicas - side.Available)
		}
	}
	if down > base.Budget {
		t.Errorf("V12: %s: %d replicas may be down at once, and the budget is %d", m.Name, down, base.Budget)
	}
}

// TestV12PossibleStates: the pictures of the documentation show states that the product has.
func TestV12PossibleStates(t *testing.T) {
	for _, m := range pictured() {
		possible(t, m)
	}
}

// change has a Migration say that it waits for something else.
func (s *shop) change(name, message string) {
	s.Helper()
	m := &api.Migration{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, m); err != nil {
		s.Fatal(err)
	}
	m.Status.Conditions = conditions(time.Second, met(api.ConditionStalled, api.ReasonPodNotReady, message))
	if err := s.client.Status().Update(s.Context(), m); err != nil {
		s.Fatal(err)
	}
}

func rightTo(verb, namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: verb, Group: api.GroupVersion.Group, Resource: "migrations", Namespace: namespace}
}

func met(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func unmet(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func conditions(ago time.Duration, all ...metav1.Condition) []metav1.Condition {
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-ago))
	}
	return all
}

// moved is a Migration from east to west of which so many ordinals have arrived, with a history of that.
func moved(name string, arrived, total int32) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.Source.Name = name
	m.Spec.Destination = api.DestinationReference{KubeConfigSecretRef: &api.SecretKeyReference{Name: "west"}, Name: name}
	left := total - arrived
	began := time.Now().Add(-time.Duration(arrived+1) * time.Minute)
	m.Status = api.MigrationStatus{
		Baseline:    &api.Baseline{Replicas: total, Budget: 1, SourceCluster: "east", DestinationCluster: "west", SourceUID: types.UID(name), StartTime: metav1.NewTime(began)},
		Fence:       &api.Fence{Epoch: 1, Holder: "sliceshift-manager-7c9d5b6f4-x2x8k", Direction: api.Forward},
		Source:      &api.SliceStatus{Slice: fmt.Sprintf("east/shop/%s [0,%d)", name, left), Replicas: left, Available: left, MaxUnavailable: new(int32(1))},
		Destination: &api.SliceStatus{Slice: fmt.Sprintf("west/shop/%s [%d,%d)", name, left, total), Start: left, Replicas: arrived, Available: arrived, MaxUnavailable: new(int32(0))},
		Moved:       arrived, Total: total,
		History: &api.History{Drivers: []api.Driver{{Epoch: 1, Holder: "sliceshift-manager-7c9d5b6f4-x2x8k", Direction: api.Forward, StartTime: metav1.NewTime(began)}}},
		Conditions: conditions(time.Duration(arrived+1)*time.Minute, met(api.ConditionAccepted, api.ReasonReady, "source, destination and rights were checked"),
			met(api.ConditionProgressing, api.ReasonMoving, ""), unmet(api.ConditionStalled, api.ReasonReady, "")),
	}
	const longest = 64
	for i := max(0, arrived-longest); i < arrived; i++ {
		from := began.Add(time.Duration(i) * time.Minute)
		took := time.Duration(38+(i*7)%17) * time.Second
		m.Status.History.Handoffs = append(m.Status.History.Handoffs, api.PastHandoff{
			Ordinal: total - 1 - i, Direction: api.Forward, StartTime: metav1.NewMicroTime(from), EndTime: metav1.NewMicroTime(from.Add(took)), Attempts: 1, Epoch: 1, FewestAvailable: new(total - 1),
		})
	}
	return m
}

// underWay is one of 7 whose ordinal 4 becomes ready at the destination.
func underWay(name string) *api.Migration {
	m := moved(name, 2, 7)
	s := &m.Status
	s.Destination.Start, s.Destination.Replicas = 4, 3
	s.Destination.Slice, s.Source.Slice = fmt.Sprintf("west/shop/%s [4,7)", name), fmt.Sprintf("east/shop/%s [0,4)", name)
	s.Source.Replicas, s.Source.Available, s.Source.MaxUnavailable = 4, 4, new(int32(0))
	s.Handoff = &api.Handoff{Ordinal: 4, Step: api.StepAwaitReadiness, Attempts: 1, StartTime: ago(31 * time.Second), StepTime: ago(14 * time.Second), FewestAvailable: new(int32(6))}
	s.Conditions = conditions(31*time.Second, met(api.ConditionAccepted, api.ReasonReady, "source, destination and rights were checked"),
		met(api.ConditionProgressing, api.ReasonPodNotReady, fmt.Sprintf("waiting until pod shop/%s-4 in cluster west is Ready", name)), unmet(api.ConditionStalled, api.ReasonReady, ""))
	return m
}

// stalled is one whose volume is still attached.
func stalled(name string) *api.Migration {
	m := moved(name, 1, 5)
	s := &m.Status
	s.Source.Slice, s.Source.Replicas, s.Source.Available, s.Source.MaxUnavailable = fmt.Sprintf("east/shop/%s [0,3)", name), 3, 3, new(int32(0))
	s.Destination.Slice = fmt.Sprintf("west/shop/%s [4,5)", name)
	s.Handoff = &api.Handoff{Ordinal: 3, Step: api.StepAwaitRelease, Attempts: 1, StartTime: ago(66 * time.Second), StepTime: ago(55 * time.Second), FewestAvailable: new(int32(4))}
	message := fmt.Sprintf("volume pvc-2f0c6a of ordinal 3 is still attached to node worker-2 of cluster east (VolumeAttachment csi-81d4f), 45s after pod shop/%s-3 was gone: starting it elsewhere could corrupt its data", name)
	s.Conditions = conditions(10*time.Second, met(api.ConditionAccepted, api.ReasonReady, "source, destination and rights were checked"),
		unmet(api.ConditionProgressing, api.ReasonVolumeAttached, message), met(api.ConditionStalled, api.ReasonVolumeAttached, message+". What to do: kubectl describe volumeattachment csi-81d4f --context east; kubectl get node worker-2 --context east"))
	s.History.Stops = []api.PastStop{{Reason: api.ReasonPaused, Message: "mode is Pause", StartTime: metav1.NewTime(time.Now().Add(-80 * time.Second)), EndTime: metav1.NewTime(time.Now().Add(-70 * time.Second))}}
	return m
}

func ago(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(time.Now().Add(-d)) }
