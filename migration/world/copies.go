package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// CopiesSeenFor is how long reads of dependencies remain valid. They are not watched, because a watch would have to
// cache all Secrets of a namespace.
const CopiesSeenFor = 30 * time.Second

// copies caches the dependencies that were read.
type copies struct {
	// seen is when all of them were read; zero if they were not yet.
	seen time.Time
	// back is true if they were read for the rollback.
	back bool
	list []plan.Dependency
	// stale marks those that were written since.
	stale map[Named]bool
}

// looked selects the dependencies that are read.
type looked int

const (
	lookAtNone looked = iota
	lookAtNeeds
	lookAtMade
)

// lookedAt returns which dependencies a migration must read. Until its end these are the needs of its pods, as long
// as ordinals may move to the destination. In a rollback they are the copies that it has made, if these must be
// deleted.
func lookedAt(m *api.Migration, s plan.Snapshot) looked {
	asked := s.Spec.Dependencies
	going := s.Spec.Mode == api.ModeRun && !s.Deleting && s.Record.AutomaticRollback == nil || s.Record.Handoff != nil
	switch {
	case s.Spec.SameNamespace, s.Record.Completed != "", Recovers(m):
		return lookAtNone
	case len(s.Record.Owed) > 0 && (s.Destination.Set.Replicas > 0 || len(s.Destination.Pods) > 0):
		return lookAtNeeds // replacements of deleted copies are created in every mode
	case !asked.Copy:
		return lookAtNone
	case s.Spec.Mode == api.ModeRollback && asked.Delete && !s.Deleting && s.Record.Baseline != nil:
		return lookAtMade
	case s.Spec.Mode == api.ModeRollback, !going:
		return lookAtNone
	default:
		return lookAtNeeds
	}
}

// dependencies reads the dependencies of the pods if they are copied. A failed read makes them unknown, but does not
// make a side Unreachable, because an ordinal that is down must be started.
func (e *Observer) dependencies(ctx context.Context, m *api.Migration, s plan.Snapshot, set *appsv1.StatefulSet, sc planner.Reads) plan.Dependencies {
	look := lookedAt(m, s)
	if look == lookAtNone || set == nil {
		return plan.Dependencies{}
	}
	list, err := e.copiesOf(ctx, NewCopyReader(e.Pair, m, e.Policy), set, look == lookAtMade, sc.Dependencies)
	if err != nil {
		e.copies = copies{}
		return plan.Dependencies{Trouble: endpoint.OneLine(err), LacksRight: endpoint.LacksRight(err)}
	}
	return plan.Dependencies{Read: true, List: list}
}

func (e *Observer) copiesOf(ctx context.Context, r CopyReader, set *appsv1.StatefulSet, back, anew bool) ([]plan.Dependency, error) {
	known, now := &e.copies, e.Clock.Now()
	lately := !known.seen.IsZero() && known.back == back && now.Sub(known.seen) < CopiesSeenFor
	var err error
	switch {
	case anew || !lately:
		known.list, err = e.allCopies(ctx, r, set, back)
		known.seen, known.back, known.stale = now, back, nil
	case len(known.stale) > 0:
		known.list, err = r.again(ctx, set, *known)
		known.stale = nil
	}
	return known.list, err
}

func (e *Observer) allCopies(ctx context.Context, r CopyReader, set *appsv1.StatefulSet, back bool) ([]plan.Dependency, error) {
	if back {
		return r.Made(ctx, set)
	}
	needs, err := ReadNeeds(ctx, e.Source, set)
	if err != nil {
		return nil, err
	}
	return r.Read(ctx, set, needs)
}

// usedThere returns the objects that pods outside the set reference, with one such pod each. The pods are read
// completely and live, because a view keeps only their references to claims.
func usedThere(ctx context.Context, at endpoint.Endpoint) (map[Named]string, error) {
	pods := &unstructured.UnstructuredList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := at.Live.List(ctx, pods, client.InNamespace(at.Namespace)); err != nil {
		return nil, fmt.Errorf("listing pods in namespace %s of cluster %s: %w", at.Namespace, at.Cluster, err)
	}
	used := map[Named]string{}
	for i := range pods.Items {
		pod, err := endpoint.Convert[corev1.Pod](&pods.Items[i])
		if err != nil {
			return nil, err
		}
		if !dependencies.SomebodyElses(pod, at.Set) {
			continue
		}
		for _, ref := range slices.Concat(dependencies.Walk(pod.Spec, nil), dependencies.SharedClaims(pod.Spec, nil)) {
			used[Named{ref.Kind, ref.Name}] = at.Namespace + "/" + pod.Name + " in cluster " + at.Cluster
		}
	}
	return used, nil
}
