package world

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// Began is when the migrations of these tests started.
var Began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// migrating returns a migration in progress.
func migrating() *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{UID: "m"}}
	m.Status.Baseline = &api.Baseline{StartTime: metav1.NewTime(Began.Add(300 * time.Millisecond))}
	return m
}

func wrote(manager, fields string, at time.Time) metav1.ManagedFieldsEntry {
	raw := &metav1.FieldsV1{}
	raw.SetRawString(fields)
	return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: raw, Time: &metav1.Time{Time: at}}
}

// TestSpecOf: missing fields of a Migration have the defaults of its CRD.
func TestSpecOf(t *testing.T) {
	if diff := cmp.Diff(plan.Spec{Mode: api.ModeRun, Order: api.HighestFirst, Deadline: 10 * time.Minute}, SpecOf(&api.Migration{}, false)); diff != "" {
		t.Errorf("of an empty one: -want +got\n%s", diff)
	}
	most := intstr.FromInt32(2)
	m := &api.Migration{Spec: api.MigrationSpec{Mode: api.ModePause, MaxUnavailable: &most, SplitBudget: "Source"}}
	m.Spec.Ordinals.Order, m.Spec.Ordinals.Count = api.LowestFirst, new(int32(3))
	m.Spec.Handoff.MinReadySeconds, m.Spec.Handoff.ProgressDeadlineSeconds = new(int32(7)), new(int32(90))
	m.Spec.Services.Export, m.Spec.Services.PerOrdinal = true, api.PerOrdinalExport
	m.Spec.Cleanup.Source, m.Spec.Cleanup.PerOrdinalServices = api.CleanupDelete, api.CleanupDelete
	m.Spec.Destination.CreateNamespace, m.Spec.Recovery.DestinationIsOff = true, "west"
	want := plan.Spec{
		Mode: api.ModePause, Order: api.LowestFirst, Count: 3, MaxUnavailable: &most, MinReady: 7 * time.Second, Deadline: 90 * time.Second,
		Recovery: "west", Export: true, NameOrdinals: true, DropNames: true, CreateNamespace: true, SplitBudget: "Source", DeleteSource: true, SameCluster: true,
	}
	if diff := cmp.Diff(want, SpecOf(m, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRecordOf: the record is read from the status. A False condition means that the migration was not accepted, or
// shows the reason of its completion.
func TestRecordOf(t *testing.T) {
	m := migrating()
	m.Status.Fence, m.Status.Handoff = &api.Fence{Epoch: 3}, &api.Handoff{Ordinal: 2}
	want := plan.Record{Baseline: m.Status.Baseline, Fence: m.Status.Fence, Handoff: m.Status.Handoff}
	if diff := cmp.Diff(want, RecordOf(m)); diff != "" {
		t.Errorf("without conditions: -want +got\n%s", diff)
	}
	m.Status.Destination = &api.SliceStatus{Replicas: 2}
	want.Given = new(int32(2))
	m.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: "Stalled"},
		{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady},
		{Type: api.ConditionCompleted, Status: metav1.ConditionFalse, Reason: api.ReasonMoved},
	}
	want.Accepted, want.Completed = true, api.ReasonMoved
	if diff := cmp.Diff(want, RecordOf(m)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	m.Status.Conditions[1].Status = metav1.ConditionFalse
	if RecordOf(m).Accepted {
		t.Error("it is accepted though the condition is False")
	}
}

// webSet returns a StatefulSet with every field that is read.
func webSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "s", ResourceVersion: "7", Generation: 4, DeletionTimestamp: &metav1.Time{Time: Began},
			Annotations:   map[string]string{api.FenceAnnotationKey: "m.2", api.OwnerAnnotationKey: "m"},
			ManagedFields: []metav1.ManagedFieldsEntry{wrote("kubectl", `{"f:spec":{"f:replicas":{}}}`, Began.Add(time.Hour))},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), Ordinals: &appsv1.StatefulSetOrdinals{Start: 2}, MinReadySeconds: 5,
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
			Template:                             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 4, UpdateRevision: "r2"},
	}
}

func webPod(name string, change func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{"app": "web", appsv1.ControllerRevisionHashLabelKey: "r2"},
			OwnerReferences: []metav1.OwnerReference{{UID: "s", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Began)},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Began.Add(time.Hour))},
		}},
	}
	if change != nil {
		change(&pod)
	}
	return pod
}

// TestSideOf: the view of a side has its set, its pods in order, and its budgets.
func TestSideOf(t *testing.T) {
	f := &observed{
		endpoint: endpoint.Endpoint{Cluster: "east", ID: "e", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion}, set: webSet(), export: plan.Export{Found: true},
		pods: []corev1.Pod{
			webPod("web-10", func(p *corev1.Pod) {
				p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: Began}, []string{"a/b", "c/d"}
			}),
			webPod("another-1", nil),
			webPod("web-2", func(p *corev1.Pod) { p.OwnerReferences = nil; p.UID = "p" }),
			webPod("web-3", func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }),
			webPod("web-4", func(p *corev1.Pod) { p.Annotations = map[string]string{slicesapi.InPlaceUpdateAnnotationKey: "{}"} }),
		},
		claims: map[string]*corev1.PersistentVolumeClaim{
			"b": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "s"}}}},
			"a": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "x"}, {UID: "s"}}}},
			"c": {},
		},
		budgets: []policyv1.PodDisruptionBudget{
			{ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "z"}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "y"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "?"}}}}},
		},
	}
	budget := func(name string) plan.Budget {
		return plan.Budget{Name: name, Observed: true, Covers: "another-1"}
	}
	want := plan.Side{
		Cluster: "east", ClusterID: "e", Namespace: "shop", NamespaceFound: true, Reach: plan.Seen, Export: plan.Export{Found: true},
		Set: plan.Set{
			Presence: plan.Seen, Name: "web", UID: "s", ResourceVersion: "7", Start: 2, Replicas: 3, Observed: true, RolledOut: true, MinReady: 5 * time.Second, Grace: 30 * time.Second,
			Ordered: true, Fence: "m.2", ScalesBy: "kubectl", Ours: true, Owner: "m", Terminating: true, Resource: plan.NativeResource, DeletesClaims: true, OwnsClaims: []string{"a", "b"},
		},
		Pods: []plan.Pod{
			{Ordinal: 2, UID: "p", Orphan: true, Ready: true, ReadySince: Began, Node: "node"},
			{Ordinal: 3, Owned: true, Node: "node"},
			{Ordinal: 4, Ready: true, ReadySince: Began, Owned: true, Node: "node"},
			{Ordinal: 10, Ready: true, ReadySince: Began, Terminating: true, GoneBy: Began, Owned: true, Node: "node", Finalizers: "a/b, c/d"},
		},
		Budgets: []plan.Budget{budget("all"), budget("web")}, OtherBudgets: []string{"y", "z"},
	}
	if diff := cmp.Diff(want, sideOf(migrating(), f)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	f.set, f.budgets, f.labels, f.lacksNamespace = nil, nil, nil, true
	gone := sideOf(migrating(), f)
	if gone.Set.Presence != plan.Absent || gone.NamespaceFound || len(gone.Pods) != 4 || gone.Pods[1].Owned {
		t.Errorf("without its set: %+v", gone)
	}
	f.err = errors.Join(errors.New("no way"), errors.New("no way"), errors.New("no more"))
	if side := sideOf(migrating(), f); side.Reach != plan.Unreachable || side.ReachError != "no way; no more" || len(side.Pods) > 0 {
		t.Errorf("with an error: %+v", side)
	}
	f.lost = true
	lost := plan.Side{Cluster: "east", ClusterID: "e", Namespace: "shop", NamespaceFound: true, Reach: plan.Seen, Lost: true, Export: plan.Export{Found: true}, Set: plan.Set{Presence: plan.Absent, Name: "web", Resource: plan.NativeResource}}
	if diff := cmp.Diff(lost, sideOf(migrating(), f)); diff != "" {
		t.Errorf("lost: -want +got\n%s", diff)
	}
}

// TestSetOfDefaults: missing fields of a StatefulSet have the controller's defaults.
func TestSetOfDefaults(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}}
	set.Spec.PodManagementPolicy, set.Status.ObservedGeneration = appsv1.ParallelPodManagement, 1
	want := plan.Set{Presence: plan.Seen, Name: "web", Replicas: 1, RolledOut: true, Grace: 30 * time.Second}
	if diff := cmp.Diff(want, SetOf(migrating(), set, nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	set.Status.ObservedGeneration = 3
	if got := SetOf(migrating(), set, nil); got.DeletesClaims || !got.Observed {
		t.Errorf("got %+v", got)
	}
}

// TestRolledOut: a set is rolled out when each of its own pods has the newest revision.
func TestRolledOut(t *testing.T) {
	older := func(p *corev1.Pod) { p.Labels[appsv1.ControllerRevisionHashLabelKey] = "r1" }
	for name, tc := range map[string]struct {
		pods []corev1.Pod
		want bool
	}{
		"no pods":                 {nil, true},
		"all":                     {[]corev1.Pod{webPod("web-2", nil), webPod("web-3", nil)}, true},
		"one is older":            {[]corev1.Pod{webPod("web-2", nil), webPod("web-3", older)}, false},
		"an older one is not its": {[]corev1.Pod{webPod("web-2", func(p *corev1.Pod) { older(p); p.OwnerReferences = nil })}, true},
	} {
		if got := rolledOut(webSet(), tc.pods); got != tc.want {
			t.Errorf("%s: rolled out %t", name, got)
		}
	}
}

// TestSideOfOurKind: the view of a set of our own kind also has the state of its roll-outs and its skipped ordinals.
// A pod in an in-place update is not Ready, whatever its condition.
func TestSideOfOurKind(t *testing.T) {
	slice := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		UID: "s", ManagedFields: []metav1.ManagedFieldsEntry{wrote("kubectl", `{"f:spec":{"f:reserveOrdinals":{}}}`, Began.Add(time.Hour))},
	}}
	set := webSet()
	set.ManagedFields = append(set.ManagedFields, slice.ManagedFields...)
	f := &observed{endpoint: endpoint.Endpoint{Set: "web", APIVersion: workload.SliceVersion}, set: set, object: slice, pods: []corev1.Pod{
		webPod("web-2", func(p *corev1.Pod) { p.Annotations = map[string]string{slicesapi.InPlaceUpdateAnnotationKey: "{}"} }),
		webPod("web-3", func(p *corev1.Pod) { p.Annotations = map[string]string{slicesapi.SpecifiedDeleteKey: "true"} }),
	}}
	got := sideOf(migrating(), f)
	if got.Set.Resource != plan.SliceResource || !got.Set.Rolls.Own || !got.Set.Rolls.Asked || got.Set.Reserves || got.Set.ReservesBy != "kubectl" || got.Set.MinReady != 5*time.Second {
		t.Errorf("set %+v", got.Set)
	}
	if got.Pods[0].Ready || !got.Pods[1].Ready {
		t.Errorf("pods %+v", got.Pods)
	}
	slice.Spec.ReserveOrdinals = append(slice.Spec.ReserveOrdinals, intstr.FromInt32(3))
	slice.Spec.UpdateStrategy.RollingUpdate = &slicesapi.RollingUpdateStrategy{}
	if got := sideOf(migrating(), f); !got.Set.Reserves || got.Set.MinReady != 5*time.Second {
		t.Errorf("with an ordinal that is skipped: %+v", got.Set)
	}
}
