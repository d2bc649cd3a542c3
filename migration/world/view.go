package world

import (
	"iter"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// SpecOf sets the defaults of the CRD: the CLI has no API server that sets them in the record that it keeps.
func SpecOf(m *api.Migration, sameCluster bool) plan.Spec {
	in := m.Spec
	spec := plan.Spec{
		Mode: in.Mode, Order: in.Ordinals.Order, MaxUnavailable: in.MaxUnavailable, MaxInFlight: in.Handoff.MaxInFlight,
		Deadline: 600 * time.Second, Export: in.Services.Export,
		NameOrdinals:    in.Services.NamesOrdinals(),
		DropNames:       in.Cleanup.PerOrdinalServices == api.CleanupDelete,
		CreateNamespace: in.Destination.CreateNamespace,
		DeleteSource:    in.Cleanup.Source == api.CleanupDelete,
		SplitBudget:     in.SplitBudget,
		Recovery:        types.UID(in.Recovery.DestinationIsOff),
		NothingMovedOn:  in.Recovery.NothingMovedOn,
		SameCluster:     sameCluster,
		Hooks:           in.Hooks,
		HookAnswer:      in.HookAnswer,
		PauseWriters:    in.Writers.Pause,
		WritersPaused:   in.Writers.PausedByHand,
		Volumes:         in.Volumes,
		Schedule:        schedule.Of(in.Schedule),
		Dependencies: plan.DependencySpec{
			Copy: in.Dependencies.Mode == api.DependenciesCopy, OnConflict: in.Dependencies.OnConflict, OnChange: in.Dependencies.OnChange,
			SelectsOthers: in.Dependencies.SelectsOthers, Delete: in.Dependencies.Cleanup == api.CleanupDelete,
		},
	}
	for _, gate := range in.Gates {
		if !gate.DryRun && (slices.Contains(gate.At, api.GateBeforeStop) || slices.Contains(gate.At, api.GateAfterStart)) {
			spec.OrdinalGate = gate.Name
		}
	}
	for _, asked := range m.VolumesAsAccepted() {
		if m.Spec.Storage == nil && asked.Method == api.MethodCopy && asked.Copy.Warm != api.CopyWarmNone {
			spec.Prefetch = max(spec.Prefetch, asked.Copy.Prefetch)
		}
	}
	if spec.Mode == "" {
		spec.Mode = api.ModeRun
	}
	if spec.Order == "" {
		spec.Order = api.HighestFirst
	}
	if in.Ordinals.Count != nil {
		spec.Count = *in.Ordinals.Count
	}
	if seconds := in.Handoff.MinReadySeconds; seconds != nil {
		spec.MinReady = time.Duration(*seconds) * time.Second
	}
	if seconds := in.Handoff.ProgressDeadlineSeconds; seconds != nil {
		spec.Deadline = time.Duration(*seconds) * time.Second
	}
	return spec
}

// AsHandoff returns a Migration as if it were moving an ordinal whose volumes are copied before its turn, or
// proven after it. They are then read like those of a handoff.
func AsHandoff(m *api.Migration, ordinal int32) *api.Migration {
	early := *m
	early.Status.Handoff = planner.AsHandoff(RecordOf(m), ordinal).Handoff
	return &early
}

// RecordOf returns the record in the status that the planner uses.
func RecordOf(m *api.Migration) plan.Record {
	record := plan.Record{
		Baseline: m.Status.Baseline, Fence: m.Status.Fence, Handoff: m.Status.Handoff, Further: m.Status.FurtherHandoffs, Pace: m.Status.Pace, TurnedBack: m.Status.TurnedBack,
		Storage: m.Status.Storage, Ahead: m.Status.Ahead, Proofs: m.Status.Proofs, Hooks: m.Status.Hooks, HookTurns: m.Status.HookTurns, Writers: m.Status.PausedWriters,
		AutomaticRollback: m.Status.AutomaticRollback, LastAttempt: m.Status.LastAttempt, StartWithdrawn: m.Status.StartWithdrawn, Owed: m.Status.OwedCopies,
	}
	if history := m.Status.History; history != nil {
		record.Stopped = history.Stopped
		if outage := volumes.OutageOf(history, m.Status.Fence.Heading()); outage.Measured > 0 {
			record.Outage = &outage
		}
	}
	if destination := m.Status.Destination; destination != nil {
		record.Given = &destination.Replicas
	}
	for _, condition := range m.Status.Conditions {
		switch condition.Type {
		case api.ConditionAccepted:
			record.Accepted = condition.Status == metav1.ConditionTrue
		case api.ConditionCompleted:
			// The condition is False, with its final reason, while both sides are released.
			record.Completed = condition.Reason
		}
	}
	return record
}

func sideOf(m *api.Migration, f *observed) plan.Side {
	side := plan.Side{Cluster: f.endpoint.Cluster, Flags: f.endpoint.Flags, ClusterID: f.endpoint.ID, Namespace: f.endpoint.Namespace, NamespaceFound: !f.lacksNamespace, Export: f.export}
	side.Set = plan.Set{Presence: plan.Absent, Name: f.endpoint.Set, Resource: f.endpoint.Resource()}
	if f.lost {
		side.Reach, side.Lost, side.NamespaceFound = plan.Seen, true, true
		return side
	}
	if f.err != nil {
		side.ReachError = endpoint.OneLine(f.err)
		side.Set.Presence = plan.Unreachable
		return side
	}
	side.Reach = plan.Seen
	side.Pods = podsOf(f)
	side.Budgets, side.OtherBudgets = budgetsOf(m, f)
	if f.set != nil {
		side.Set = SetOf(m, f.set, f.pods)
		side.Set.Resource, side.Set.OwnsClaims, side.Set.YoungClaim = f.endpoint.Resource(), f.ownsClaims(), f.youngClaim(side.Set)
		facts := f.endpoint.Kind().Observe(f.object, f.pods)
		side.Set.Rolls, side.Set.Reserves = rollsOf(facts), facts.SkipsOrdinals
		side.Set.Rolls.Stays = staysOf(f.set, f.pods, facts)
		side.Set.ReservesBy = foreignWriter(f.set.ManagedFields, begun(m), `"f:reserveOrdinals"`)
		side.Set.MinReady = max(side.Set.MinReady, time.Duration(facts.MinReadySeconds)*time.Second)
	}
	return side
}

// ownsClaims returns the claims that the StatefulSet owns, because its controller has set the owner reference for
// whenDeleted: Delete (KEP-1847).
func (f *observed) ownsClaims() []string {
	var names []string
	for name, claim := range f.claims {
		owns := func(ref metav1.OwnerReference) bool { return ref.UID == f.set.UID }
		if slices.ContainsFunc(claim.OwnerReferences, owns) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// claimsPrecedeBy is how much older than its StatefulSet a claim must be to count as created before it. API servers
// of one cluster may have different clocks.
const claimsPrecedeBy = time.Minute

// youngClaim returns the first claim by name of an ordinal of the slice that did not exist before its StatefulSet.
func (f *observed) youngClaim(set plan.Set) string {
	var young []string
	for name, claim := range f.claims {
		if f.ofOrdinal(set, name) && claim.CreationTimestamp.Add(claimsPrecedeBy).After(f.set.CreationTimestamp.Time) {
			young = append(young, name)
		}
	}
	if len(young) == 0 {
		return ""
	}
	return slices.Min(young)
}

// ofOrdinal reports whether the name of a claim is that of an ordinal of the slice.
func (f *observed) ofOrdinal(set plan.Set, name string) bool {
	return slices.ContainsFunc(f.set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		rest, is := strings.CutPrefix(name, template.Name+"-")
		ordinal, belongs := dependencies.OrdinalOf(set.Name, rest)
		return is && belongs && set.Has(ordinal)
	})
}

// OrdinalsToMove returns the ordinals of a source that a migration moves, in the order of their move.
func OrdinalsToMove(m *api.Migration, source *appsv1.StatefulSet) []int32 {
	return plan.Snapshot{Spec: SpecOf(m, false), Source: plan.Side{Set: SetOf(m, source, nil)}}.OrdinalsToMove()
}

// SetOf returns the view of a StatefulSet.
func SetOf(m *api.Migration, set *appsv1.StatefulSet, pods []corev1.Pod) plan.Set {
	view := plan.Set{
		Presence: plan.Seen, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion, Replicas: 1,
		Observed:  set.Status.ObservedGeneration >= set.Generation,
		RolledOut: rolledOut(set, pods),
		MinReady:  time.Duration(set.Spec.MinReadySeconds) * time.Second,
		Grace:     time.Duration(ptr.Deref(set.Spec.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second,
		Ordered:   set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		Fence:     set.Annotations[api.FenceAnnotationKey],
		ScalesBy:  foreignWriter(set.ManagedFields, begun(m), `"f:replicas"`, `"f:ordinals"`),
		Ours:      set.Annotations[api.OwnerAnnotationKey] == string(m.UID),
		Owner:     types.UID(set.Annotations[api.OwnerAnnotationKey]), LeftOut: set.Annotations[api.LeftOutAnnotationKey] != "",
		Terminating: set.DeletionTimestamp != nil,
	}
	if set.Spec.Replicas != nil {
		view.Replicas = *set.Spec.Replicas
	}
	if set.Spec.Ordinals != nil {
		view.Start = set.Spec.Ordinals.Start
	}
	if policy := set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		view.DeletesClaims = policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return view
}

func podsOf(f *observed) []plan.Pod {
	var pods []plan.Pod
	for i := range f.pods {
		pod := &f.pods[i]
		ordinal, belongs := dependencies.OrdinalOf(f.endpoint.Set, pod.Name)
		if !belongs {
			continue
		}
		view := plan.Pod{
			Ordinal: ordinal, UID: pod.UID, Terminating: pod.DeletionTimestamp != nil,
			Created: f.endpoint.Ours(pod.CreationTimestamp.Time), Pending: pod.Status.Phase == corev1.PodPending,
			Owned: f.set != nil && metav1.IsControlledBy(pod, f.set), Orphan: metav1.GetControllerOfNoCopy(pod) == nil, Node: pod.Spec.NodeName, Trouble: troubleOf(pod), Finalizers: strings.Join(pod.Finalizers, ", "),
		}
		if pod.DeletionTimestamp != nil {
			view.GoneBy = f.endpoint.Ours(pod.DeletionTimestamp.Time)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				view.Ready, view.ReadySince = true, f.endpoint.Ours(condition.LastTransitionTime.Time)
			}
		}
		if f.endpoint.Kind().Updating(pod) {
			view.Ready = false // its kubelet will report that
		}
		pods = append(pods, view)
	}
	slices.SortFunc(pods, func(a, b plan.Pod) int { return int(a.Ordinal) - int(b.Ordinal) })
	return pods
}

// budgetsOf returns the PodDisruptionBudgets that select the pods of the slice, and the names of the others.
func budgetsOf(m *api.Migration, f *observed) (budgets []plan.Budget, others []string) {
	members := f.members()
	for i := range f.budgets {
		budget := &f.budgets[i]
		selected, selector := f.selects(budget.Spec.Selector, members)
		if !selected.any {
			others = append(others, budget.Name)
			continue
		}
		view := f.budgetOf(m, budget)
		view.Covers, view.LeavesOut = f.stranger(selector), selected.leavesOut
		budgets = append(budgets, view)
	}
	slices.SortFunc(budgets, func(a, b plan.Budget) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(others)
	return budgets, others
}

// evictedFor is how long a granted eviction may take to mark its pod.
const evictedFor = 10 * time.Second

// disrupted returns the pods whose eviction was granted and not observed yet. The disruption controller identifies
// them by name only, and keeps a name for two minutes if it never observed the end of the former pod (kubernetes
// disruption.go, buildDisruptedPodMap, DeletionTimeout). A pod that was created since, and has no eviction condition,
// is not the evicted one.
func (f *observed) disrupted(budget *policyv1.PodDisruptionBudget) []string {
	var names []string
	for name, granted := range budget.Status.DisruptedPods {
		again := false
		for pod := range f.seenPods() {
			again = again || pod.Name == name && madeSince(pod, granted, f.endpoint.Theirs(f.now))
		}
		if !again {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// seenPods returns the pods of the slice and the other pods that were read.
func (f *observed) seenPods() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, pods := range [][]corev1.Pod{f.pods, f.otherPods} {
			for i := range pods {
				if !yield(&pods[i]) {
					return
				}
			}
		}
	}
}

// madeSince reports whether a pod was created after an eviction was granted. Both times are in whole seconds.
func madeSince(pod *corev1.Pod, granted metav1.Time, now time.Time) bool {
	marked := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	if marked || pod.CreationTimestamp.Before(&granted) {
		return false
	}
	return granted.Before(&pod.CreationTimestamp) || now.Sub(granted.Time) > evictedFor
}

// stranger returns a selected pod that belongs to neither slice. A completed pod does not count for a
// PodDisruptionBudget.
func (f *observed) stranger(selector labels.Selector) string {
	for pod := range f.seenPods() {
		_, own := dependencies.OrdinalOf(f.endpoint.Set, pod.Name)
		if !own && f.sibling != "" {
			_, own = dependencies.OrdinalOf(f.sibling, pod.Name)
		}
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		mover := pod.Labels[manifest.RoleLabelKey] != "" // a mover is never Ready, and is deleted before the next stop
		if !own && !ended && !mover && selector.Matches(labels.Set(pod.Labels)) {
			return pod.Name
		}
	}
	return ""
}

// podLabels returns the labels of the slice's pods: those of its template.
func (f *observed) podLabels() labels.Set {
	if f.set == nil {
		return f.labels
	}
	return f.set.Spec.Template.Labels
}

func (f *observed) budgetOf(m *api.Migration, budget *policyv1.PodDisruptionBudget) plan.Budget {
	view := plan.Budget{
		Disrupted: f.disrupted(budget), Name: budget.Name, UID: budget.UID, ResourceVersion: budget.ResourceVersion,
		Form:     pdb.Form{MinAvailable: budget.Spec.MinAvailable, MaxUnavailable: budget.Spec.MaxUnavailable},
		Observed: budget.Status.ObservedGeneration >= budget.Generation, Evictions: budget.Status.DisruptionsAllowed,
		Unhealthy: string(ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, "")), EvictsUnhealthy: pdb.EvictsUnhealthy(budget),
		Ours:   budget.Annotations[api.OwnerAnnotationKey] == string(m.UID),
		Author: pdb.Parse(budget.Annotations[api.AuthorBudgetAnnotationKey]),
	}
	view.Generation, view.HandedOver = budget.Generation, budget.Annotations[api.BudgetAnnotationKey] == api.BudgetHandedOver
	view.WrittenBy, view.Own = formWriter(budget)
	if fence, wrote := pdb.Unmark(budget.Annotations[api.BudgetAnnotationKey]); api.FenceOwner(fence) == m.UID {
		view.Fence, view.Wrote = fence, wrote
	}
	return view
}

// formWriter returns the manager that owns the form of a PodDisruptionBudget, and whether that is a migration. The
// API server transfers a field to a manager that writes another value.
func formWriter(budget *policyv1.PodDisruptionBudget) (by string, own bool) {
	field := `"f:minAvailable"`
	if budget.Spec.MaxUnavailable != nil {
		field = `"f:maxUnavailable"`
	}
	by = foreignWriter(budget.ManagedFields, time.Time{}, field)
	return by, ownsField(budget.ManagedFields, field)
}

// ownsField reports whether a migration owns a field of a spec.
func ownsField(fields []metav1.ManagedFieldsEntry, name string) bool {
	return slices.ContainsFunc(fields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == api.FieldManager && entry.Subresource == "" && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), name)
	})
}

// begun returns when a migration started; managed fields have the same precision.
func begun(m *api.Migration) time.Time {
	if m.Status.Baseline == nil {
		return time.Time{}
	}
	return m.Status.Baseline.StartTime.Truncate(time.Second)
}

// foreignWriter returns the last manager, other than a migration, that has written one of the fields since then.
// Writes of the status are ignored, because the controller makes them.
func foreignWriter(fields []metav1.ManagedFieldsEntry, since time.Time, names ...string) string {
	writer, last := "", since
	for _, entry := range fields {
		if entry.Manager == api.FieldManager || entry.FieldsV1 == nil || entry.Subresource == "status" {
			continue
		}
		raw := entry.FieldsV1.GetRawString()
		for _, name := range names {
			if strings.Contains(raw, name) && (entry.Time == nil || !entry.Time.Time.Before(last)) {
				writer = entry.Manager
				if entry.Time != nil {
					last = entry.Time.Time
				}
			}
		}
	}
	return writer
}
