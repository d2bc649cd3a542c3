package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/ownership"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// handOver adds to the metadata of a patch what ends the migration's ownership of the fields of a side's StatefulSet. The
// fields of a destination that the migration has created go to the field managers of the source. replicas and ordinals,
// which the migration has written on either side, go to nobody: the next apply takes them.
func (e *Executor) handOver(ctx context.Context, at endpoint.Endpoint, metadata map[string]any) error {
	set := at.NewSet(metav1.ObjectMeta{})
	if err := at.Live.Get(ctx, at.Key(at.Set), set); err != nil {
		return err
	}
	source, err := e.copiedFrom(ctx, at, set)
	if err != nil {
		return err
	}
	heir := ownership.Heir{
		APIVersion: at.Kind().APIVersion(), Namespace: at.Namespace, Name: at.Set,
		Creator: api.FieldManager, Former: []string{slicesapi.FieldManager},
	}
	if fields := heir.ManagedFields(set.GetManagedFields(), source.GetManagedFields()); len(fields) > 0 {
		metadata["managedFields"] = fields
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, applied := set.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; applied || annotations == nil {
		return nil
	}
	recorded := source.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if manifest := heir.LastApplied(recorded, []string{"spec", "replicas"}, []string{"spec", "ordinals"}); manifest != "" {
		annotations[corev1.LastAppliedConfigAnnotation] = manifest
	}
	return nil
}

// copiedFrom returns the source's StatefulSet if the given one is the destination that this migration has created from it,
// and otherwise an empty object, also if the source was deleted since. A set that was recreated in place is from the
// recorded one.
func (e *Executor) copiedFrom(ctx context.Context, at endpoint.Endpoint, set client.Object) (client.Object, error) {
	none := &metav1.PartialObjectMetadata{}
	if e.Former != "" {
		return RecreatedFrom(e.Former)
	}
	if at.Side != plan.DestinationSide || set.GetAnnotations()[api.OwnerAnnotationKey] != string(e.Owner) {
		return none, nil
	}
	found, source, err := e.Source.GetBoth(ctx, e.Source.Live)
	if err != nil || found == nil {
		return none, err
	}
	return source, nil
}
