package preflight

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// KindsNotServed finds a side whose cluster does not know the kind of its StatefulSet.
func (e *Inspector) KindsNotServed(ctx context.Context, _ *api.Migration) ([]plan.Finding, error) {
	for _, p := range []endpoint.Endpoint{e.Source, e.Destination} {
		served, err := e.Connections[p.Side].Serves(ctx, p.NewSet(metav1.ObjectMeta{}))
		if err != nil {
			return nil, err
		}
		if !served {
			return []plan.Finding{{
				Reason: api.ReasonKindUnsupported, Object: p.Object(),
				Message: fmt.Sprintf("cluster %s does not serve the kind StatefulSet of %s", p.Cluster, p.APIVersion),
				Remedy:  "install its resource definition and the manager there: kubectl apply -k config",
			}}, nil
		}
	}
	return nil, nil
}

// unsupportedFields finds what a slice asks for that a migration cannot keep: ordinals that it
// skips, and fields that the destination's kind does not have.
func (e *Inspector) unsupportedFields(ctx context.Context) ([]plan.Finding, error) {
	if e.Source.APIVersion != endpoint.SliceVersion {
		return nil, nil
	}
	set, err := endpoint.Get[slicesapi.StatefulSet](ctx, e.Source.Live, e.Source.Key(e.Source.Set))
	if set == nil || err != nil {
		return nil, err
	}
	if len(set.Spec.ReserveOrdinals) > 0 {
		return []plan.Finding{{
			Reason: api.ReasonKindUnsupported, Object: e.Source.Object(),
			Message: e.Source.Object() + " has reserveOrdinals: its slice has gaps, and two slices could not be told apart by their ends",
			Remedy:  "clear spec.reserveOrdinals before the move",
		}}, nil
	}
	lost := ownFields(set)
	if e.Destination.APIVersion == endpoint.SliceVersion || len(lost) == 0 {
		return nil, nil
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: e.Destination.Object(),
		Message: fmt.Sprintf("%s has %s, which %s does not know: the destination would behave otherwise", e.Source.Object(), strings.Join(lost, ", "), e.Destination.APIVersion),
		Remedy:  "clear these fields, or move to " + endpoint.SliceVersion,
	}}, nil
}

// ownFields are the fields that are set and that apps/v1 does not have, defaults
// apart.
func ownFields(set *slicesapi.StatefulSet) []string {
	spec, rolling := set.Spec, slicesapi.RollingUpdateStrategy{}
	if spec.UpdateStrategy.RollingUpdate != nil {
		rolling = *spec.UpdateStrategy.RollingUpdate
	}
	const deadline = 600 // the default
	var names []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"spec.paused", spec.Paused},
		{"spec.progressDeadlineSeconds", spec.ProgressDeadlineSeconds != nil && *spec.ProgressDeadlineSeconds != deadline},
		{"spec.scaleStrategy", spec.ScaleStrategy != nil},
		{"spec.volumeClaimUpdateStrategy", spec.VolumeClaimUpdateStrategy != nil && spec.VolumeClaimUpdateStrategy.Type != slicesapi.OnClaimDelete},
		{"spec.lifecycle", spec.Lifecycle != nil},
		{"spec.terminationReasonGraceSeconds", spec.TerminationReasonGraceSeconds != 0},
		{"spec.updateStrategy.type", spec.UpdateStrategy.Type == slicesapi.Recreate},
		{"spec.updateStrategy.rollingUpdate", !equality.Semantic.DeepEqual(rolling, slicesapi.RollingUpdateStrategy{Partition: rolling.Partition, MaxUnavailable: rolling.MaxUnavailable})},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}
