package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// KindsNotServed finds a side whose cluster does not serve the kind of its StatefulSet.
func (e *Inspector) KindsNotServed(ctx context.Context, _ *api.Migration) ([]plan.Finding, error) {
	for _, p := range []endpoint.Endpoint{e.Source, e.Destination} {
		if problem := workload.Problem(p.APIVersion); problem != "" {
			return []plan.Finding{{
				Check: checkKinds, Reason: api.ReasonKindUnsupported, Object: p.Object(), Message: problem,
				Remedy: "name one of these kinds, or use the version that was asked for",
			}}, nil
		}
		served, err := e.Connections[p.Side].Serves(ctx, p.NewSet(metav1.ObjectMeta{}))
		if err != nil {
			return nil, err
		}
		if !served {
			return []plan.Finding{{
				Check: checkKinds, Reason: api.ReasonKindUnsupported, Object: p.Object(),
				Message: fmt.Sprintf("cluster %s does not serve the kind StatefulSet of %s", p.Cluster, p.APIVersion),
				Remedy:  "install its resource definition and the manager there: " + p.Kubectl().Do("apply", "-k", "config"),
			}}, nil
		}
	}
	return nil, nil
}

// unsupportedFields finds fields of a slice that a migration cannot keep: ordinals that it skips, revision inputs, and fields
// that the destination's kind does not have.
func (e *Inspector) unsupportedFields(ctx context.Context) ([]plan.Finding, error) {
	if findings, err := e.revisionInputs(ctx); len(findings) > 0 || err != nil {
		return findings, err
	}
	if e.Source.APIVersion != workload.SliceVersion {
		return nil, nil
	}
	set, err := endpoint.Get[slicesapi.StatefulSet](ctx, e.Source.Live, e.Source.Key(e.Source.Set))
	if set == nil || err != nil {
		return nil, err
	}
	if len(set.Spec.ReserveOrdinals) > 0 {
		return []plan.Finding{{
			Reason: api.ReasonKindUnsupported, Object: e.Source.Object(),
			Message: e.Source.Object() + " has reserveOrdinals: its slice has gaps, so the ends of two slices do not identify their ordinals",
			Remedy:  "clear spec.reserveOrdinals before the move",
		}}, nil
	}
	lost := e.Destination.Kind().Unsupported(set)
	if len(lost) == 0 {
		return nil, nil
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: e.Destination.Object(),
		Message: fmt.Sprintf("%s has %s, which %s does not know: the destination would behave otherwise", e.Source.Object(), plan.Listed(lost), e.Destination.APIVersion),
		Remedy:  "clear these fields, or move to " + workload.SliceVersion,
	}}, nil
}

// unopenedGate finds an apps/v1 template with the readiness gate of in-place updates. Only the controller of our own
// kind sets this condition, so no pod of the template becomes Ready. It checks the destination, or the source it is
// created from.
func unopenedGate(at endpoint.Endpoint, source, destination *appsv1.StatefulSet) []plan.Finding {
	template := cmp.Or(destination, source).Spec.Template
	is := func(g corev1.PodReadinessGate) bool { return g.ConditionType == slicesapi.InPlaceUpdateReady }
	gate := slices.IndexFunc(template.Spec.ReadinessGates, is)
	if at.Kind().OpensGate() || gate < 0 {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("the pod template of %s would have the readiness gate %s, which no controller sets for %s: no moved ordinal would become Ready", at.Object(), slicesapi.InPlaceUpdateReady, at.APIVersion),
		Remedy:  fmt.Sprintf("move to %s; or remove spec.readinessGates[%d] from the template before the move, which recreates the pods", workload.SliceVersion, gate),
	}}
}

// oneCluster finds two different clusters with the same UID of namespace kube-system, if the connections differ. An
// API server lists at a revision that only grows, so in one cluster the revision of the source lies between two
// revisions of the destination. After a cluster was cloned, both revisions have grown independently.
func (e *Inspector) oneCluster(ctx context.Context, _ *api.Migration, _ *appsv1.StatefulSet) ([]plan.Finding, error) {
	if !e.SameCluster() || e.Connections[plan.SourceSide].Same(e.Connections[plan.DestinationSide]) {
		return nil, nil
	}
	var seen [3]string
	for i, at := range []endpoint.Endpoint{e.Destination, e.Source, e.Destination} {
		var listed policyv1.PodDisruptionBudgetList
		if err := at.Live.List(ctx, &listed, client.InNamespace(at.Namespace), client.Limit(1)); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", at.Cluster, err)
		}
		seen[i] = listed.ResourceVersion
	}
	if inOrder(seen[0], seen[1]) && inOrder(seen[1], seen[2]) {
		return nil, nil
	}
	return []plan.Finding{{
		Reason: api.ReasonClusterNotProven, Object: "clusters " + e.Source.Cluster + " and " + e.Destination.Cluster,
		Message: fmt.Sprintf("both clusters have the UID %s of namespace kube-system, but are different: cluster %s answers at revision %s, and cluster %s at %s before and %s after it: "+
			"an object of one would count as an object of the other, and two pods could write to one disk", e.Source.ID, e.Source.Cluster, seen[1], e.Destination.Cluster, seen[0], seen[2]),
		Remedy: fmt.Sprintf("check whether one was cloned from the other (%s; %s): if so, do not move between them; if both are one cluster, use the same context or Secret for both sides",
			e.Source.Kubectl().Do("get", "nodes"), e.Destination.Kubectl().Do("get", "nodes")),
	}}, nil
}

// inOrder reports whether a revision is not newer than another one. Revisions that cannot be compared are not in order.
func inOrder(older, newer string) bool {
	order, err := resourceversion.CompareResourceVersion(older, newer)
	return err == nil && order <= 0
}
