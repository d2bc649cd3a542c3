package world

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// writeWriter writes the pause setting of another writer of the source, and the annotation for it.
func writeWriter(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	w := effect.Writer
	change := map[string]any{}
	if w.Sets {
		setting := pause.Of(w.Group)
		if setting == nil {
			return nil, fmt.Errorf("no pause of %s.%s is known", w.Kind, w.Group)
		}
		var err error
		if change, err = setting.Patch(w.Value); err != nil {
			return nil, fmt.Errorf("%s %s/%s in cluster %s: %w", w.Kind, w.Namespace, w.Name, at.Cluster, err)
		}
	}
	var mark any
	if w.Mark != "" {
		mark = w.Mark
	}
	metadata := under(change, "metadata")
	under(metadata, "annotations")[api.WriterAnnotationKey] = mark
	metadata["uid"], metadata["resourceVersion"] = effect.UID, effect.ResourceVersion
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind})
	object.SetNamespace(w.Namespace)
	object.SetName(w.Name)
	return object, at.Live.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}

// under returns a nested object of an object; an empty one if there is none.
func under(of map[string]any, key string) map[string]any {
	field, _ := of[key].(map[string]any)
	if field == nil {
		field = map[string]any{}
		of[key] = field
	}
	return field
}
