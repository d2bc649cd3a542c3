package preflight

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// writerRights checks the right to patch each writer that the migration pauses, by its name and in its own namespace.
// The other rights are checked in the namespace of the move, but an Application of Argo CD is in another one. The
// check of the writers reports writers that may not be read.
func (e *Inspector) writerRights(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if !m.Spec.Writers.Pause {
		return nil, nil
	}
	list, err := world.WritersOf(ctx, e.Source, m, source)
	if endpoint.LacksRight(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []plan.Finding
	for _, w := range list {
		if !w.Found {
			continue
		}
		finding, err := e.unpatchable(ctx, w)
		if err != nil {
			return nil, err
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

func (e *Inspector) unpatchable(ctx context.Context, w plan.Writer) (*plan.Finding, error) {
	kind := schema.GroupKind{Group: w.Group, Kind: w.Kind}
	mapping, err := e.Source.Live.RESTMapper().RESTMapping(kind, w.Version)
	if err != nil {
		return nil, fmt.Errorf("finding out as what %s is served in cluster %s: %w", kind, e.Source.Cluster, err)
	}
	there := e.Source
	there.Namespace = w.Namespace
	rule := Rule{Group: w.Group, Resource: mapping.Resource.Resource, Name: w.Name, Verbs: "patch"}
	findings, err := missingOf(ctx, there, required{[]Rule{rule}, plan.RemedyWriterRights})
	if len(findings) == 0 || err != nil {
		return nil, err
	}
	finding := &findings[0]
	finding.Object = fmt.Sprintf("%s in cluster %s", w, there.Cluster)
	finding.Message += ": " + w.String() + " could not be paused before the first stop, and would write during the move"
	return finding, nil
}
