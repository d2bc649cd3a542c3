// Package preflight checks the clusters of a migration, before anything is written, for reasons why it would fail.
// Each Check has a file of its own, and an entry in the registry.
package preflight

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/jsontree"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/volumes"
)

// Inspector looks for reasons why a migration would fail.
type Inspector struct {
	*endpoint.Pair
	Clock       clock.PassiveClock
	Policy      volumes.Policy
	Connections map[plan.SideName]*clusters.Connection
	// Gate checks health gates; nil if none is checked.
	Gate Gate
	// moving holds volumes of the source, and claims holds their claims, that were read already.
	moving []corev1.PersistentVolume
	claims []corev1.PersistentVolumeClaim
	// nodesWithin is the maximum age of the node list; 0 means that nodes are listed now.
	nodesWithin clusters.NodesWithin
	// shared holds the reads of the current run; nil outside a run.
	shared *shared
	// lastProbe is the last dry run at the destination's API server before the first ordinal is stopped.
	lastProbe probe
}

// Run performs, before a migration starts, the checks that a snapshot of values does not cover. An error means that a
// cluster did not answer.
func (e *Inspector) Run(ctx context.Context, m *api.Migration) ([]plan.Finding, error) {
	var source, destination *appsv1.StatefulSet
	err := endpoint.Together(
		func() (err error) {
			source, err = e.Source.GetSet(ctx, e.Source.Live)
			return err
		},
		func() (err error) {
			destination, err = e.Destination.GetSet(ctx, e.Destination.Live)
			return err
		},
	)
	if err != nil || source == nil {
		return nil, err
	}
	if finding := e.uncountable(m, source, destination); finding != nil {
		return plan.OfCheck(plan.CheckOrdinals, *finding), nil
	}
	each := *e
	each.shared = &shared{}
	return each.runAll(ctx, Subject{m, source, destination})
}

// checksAtOnce is how many checks send requests at the same time.
const checksAtOnce = 8

// runAll performs all checks. The findings are in the order of the registry.
func (e *Inspector) runAll(ctx context.Context, about Subject) ([]plan.Finding, error) {
	found, errs, reads := make([][]plan.Finding, len(checks)), make([]error, len(checks)), make([]func() error, len(checks))
	for i, check := range checks {
		reads[i] = func() error {
			if m := about.Migration; m != nil && m.Spec.Storage != nil && !check.InPlace {
				return nil
			}
			found[i], errs[i] = check.Run(ctx, e, about)
			return errs[i]
		}
	}
	if endpoint.Within(checksAtOnce, reads...) != nil {
		return nil, cmp.Or(errs...) // the first: a cluster that does not answer fails most checks alike
	}
	var findings []plan.Finding
	for i, check := range checks {
		findings = append(findings, plan.OfCheck(check.Name, found[i]...)...)
	}
	return findings, nil
}

// uncountable refuses numbers of ordinals that are too large to iterate over, because the following checks iterate
// over all ordinals.
func (e *Inspector) uncountable(m *api.Migration, source, destination *appsv1.StatefulSet) *plan.Finding {
	s := plan.Snapshot{Spec: world.SpecOf(m, e.SameCluster()), Source: world.SideOfSet(m, e.Source, source), Destination: world.SideOfSet(m, e.Destination, destination)}
	s.Source.Set.Templates = world.ClaimTemplates(source)
	return s.Unbounded()
}

// differences compares an existing destination with the source, field by field.
func differences(at endpoint.Endpoint, m *api.Migration, source, destination *appsv1.StatefulSet) []plan.Finding {
	if destination == nil {
		return nil
	}
	want, have := *source.Spec.DeepCopy(), *destination.Spec.DeepCopy()
	world.MapTemplates(want.VolumeClaimTemplates, world.Forms(m))
	for _, spec := range []*appsv1.StatefulSetSpec{&want, &have} {
		spec.Replicas, spec.Ordinals, spec.RevisionHistoryLimit = nil, nil, nil
		spellOut(spec)
	}
	paths := jsontree.Differ("spec", jsontree.Of(want), jsontree.Of(have))
	if len(paths) == 0 {
		return nil
	}
	remedy := "make them equal: " + at.Kubectl().Do("edit", at.Resource(), "-n", at.Namespace, at.Set)
	if replicas := destination.Spec.Replicas; replicas != nil && *replicas == 0 {
		remedy += "; or let the migration create it, and delete it, which keeps its claims: " + at.Kubectl().Do("delete", at.Resource(), "-n", at.Namespace, at.Set, "--cascade=orphan")
	}
	return []plan.Finding{{
		Reason: api.ReasonDestinationDiffers, Object: at.Object(),
		Message: fmt.Sprintf("%s differs from the source in %s: a moved ordinal would not be the same pod", at.Object(), plan.Listed(paths)),
		Remedy:  remedy,
	}}
}

// spellOut sets the defaults that apps/v1 stores and our kind does not, so that the two can be compared
// (pkg/apis/apps/v1/defaults.go).
func spellOut(spec *appsv1.StatefulSetSpec) {
	spec.Template = *history.Canonical(&spec.Template)
	if rolling := &spec.UpdateStrategy.RollingUpdate; spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		if *rolling == nil {
			*rolling = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		if (*rolling).Partition == nil {
			(*rolling).Partition = new(int32(0))
		}
	}
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		claim.TypeMeta, claim.Status = metav1.TypeMeta{}, corev1.PersistentVolumeClaimStatus{}
		if claim.Spec.VolumeMode == nil {
			claim.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
		}
	}
}
