package preflight

import (
	"context"
	"fmt"
	"slices"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// revisionInputs finds slices with revision inputs that are not proven to be equal on both sides. In one namespace both
// slices read the same objects, and equal contents have one copy. Elsewhere the objects may differ or change during the move.
func (e *Inspector) revisionInputs(ctx context.Context) ([]plan.Finding, error) {
	source, err := inputsOf(ctx, e.Source)
	if err != nil {
		return nil, err
	}
	destination, err := inputsOf(ctx, e.Destination)
	if err != nil {
		return nil, err
	}
	shared := e.SameCluster() && e.Source.Namespace == e.Destination.Namespace
	switch {
	case len(source)+len(destination) == 0:
		return nil, nil
	case shared && e.Destination.APIVersion != workload.SliceVersion:
		return nil, nil // the destination's kind does not have the field, which is another finding
	case shared && e.Source.APIVersion == workload.SliceVersion && (destination == nil || sameInputs(source, destination)):
		return nil, nil
	}
	at, with := e.Source, source
	if len(with) == 0 {
		at, with = e.Destination, destination
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("%s has spec.revisionInputs (%s %s first): the pods of source and destination are not proven to get the same content, because the copies of a revision stay in its namespace",
			at.Object(), with[0].Kind, with[0].Name),
		Remedy: "clear spec.revisionInputs before the move, which recreates the pods in a roll-out, and set it at the destination after the move; or move within one namespace, with the same list on both sides",
	}}, nil
}

// inputsOf returns the revision inputs of one side; nil if there is no such set of our kind, and an empty list if it has none.
func inputsOf(ctx context.Context, at endpoint.Endpoint) ([]slicesapi.RevisionInput, error) {
	if at.APIVersion != workload.SliceVersion {
		return nil, nil
	}
	set, err := endpoint.Get[slicesapi.StatefulSet](ctx, at.Live, at.Key(at.Set))
	if set == nil || err != nil {
		return nil, err
	}
	return append([]slicesapi.RevisionInput{}, set.Spec.RevisionInputs...), nil
}

// sameInputs reports whether two lists give pods the same contents, in any order.
func sameInputs(a, b []slicesapi.RevisionInput) bool {
	has := func(all []slicesapi.RevisionInput, one slicesapi.RevisionInput) bool {
		return slices.ContainsFunc(all, func(other slicesapi.RevisionInput) bool {
			rolledBack := other.RolledBack == one.RolledBack || other.RolledBack != nil && one.RolledBack != nil && *other.RolledBack == *one.RolledBack
			return other.Kind == one.Kind && other.Name == one.Name && rolledBack
		})
	}
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one slicesapi.RevisionInput) bool { return !has(b, one) })
}
