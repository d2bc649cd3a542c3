package writers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// The list kinds of KEDA and of the Vertical Pod Autoscaler.
var (
	scaledObjectList   = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObjectList"}
	verticalScalerList = schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscalerList"}
)

// scaledObjects finds a KEDA ScaledObject over the StatefulSet of a side, even if it has not created its
// HorizontalPodAutoscaler yet, or scales between 0 and 1. A ScaledObject that is paused at the current replicas is a
// warning, because it must remain paused.
func scaledObjects(ctx context.Context, at endpoint.Endpoint, pauses bool) ([]plan.Finding, error) {
	all, unread, err := listIfServed(ctx, at, scaledObjectList, "scaledobjects.keda.sh")
	if err != nil || unread != nil {
		return unread, err
	}
	for i := range all {
		name := all[i].GetName()
		if !targets(&all[i], at, "scaleTargetRef") {
			continue
		}
		annotations := all[i].GetAnnotations()
		_, fixed := annotations[pause.KEDAPausedAt]
		switch {
		case fixed:
			return []plan.Finding{{
				Reason: api.ReasonAutoscaled, Object: at.Object(),
				Message: fmt.Sprintf("ScaledObject %s/%s in cluster %s is paused at %s replicas of %s: KEDA scales it back to that number during the move", at.Namespace, name, at.Cluster, annotations[pause.KEDAPausedAt], at.Object()),
				Remedy:  "pause it at its present scale: " + at.Kubectl().Do("annotate", "scaledobject", "-n", at.Namespace, name, pause.KEDAPausedAt+"-", pause.KEDAPaused+"=true"),
			}}, nil
		case annotations[pause.KEDAPaused] == "true":
			return []plan.Finding{{
				Reason: api.ReasonAutoscaled, Object: at.Object(), Warning: true,
				Message: fmt.Sprintf("ScaledObject %s/%s in cluster %s scales %s and is paused: when it is resumed, KEDA adds and removes ordinals", at.Namespace, name, at.Cluster, at.Object()),
				Remedy:  "leave it paused until the move has ended, and create it at the destination after that",
			}}, nil
		case pauses:
			return []plan.Finding{pausedFor(at, api.ReasonAutoscaled, all[i].GetKind(), name)}, nil
		}
		return []plan.Finding{byKEDA(at, name)}, nil
	}
	return nil, nil
}

// byKEDA is the finding for a ScaledObject that is not paused.
func byKEDA(at endpoint.Endpoint, name string) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonAutoscaled, Object: at.Object(),
		Message: fmt.Sprintf("ScaledObject %s/%s in cluster %s scales %s: KEDA would add and remove ordinals during the move", at.Namespace, name, at.Cluster, at.Object()),
		Remedy:  fmt.Sprintf("pause it at its present scale: %s; and create it at the destination after the move", at.Kubectl().Do("annotate", "scaledobject", "-n", at.Namespace, name, pause.KEDAPaused+"=true")),
	}
}

// listIfServed lists objects of a kind in the side's namespace. A cluster that does not serve the kind has none. A
// missing right to list them is a warning.
func listIfServed(ctx context.Context, at endpoint.Endpoint, kind schema.GroupVersionKind, resource string) (all []unstructured.Unstructured, unread []plan.Finding, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err = at.Live.List(ctx, list, client.InNamespace(at.Namespace))
	switch {
	case err == nil:
		return list.Items, nil, nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil, nil, nil
	case apierrors.IsForbidden(err):
		return nil, []plan.Finding{{
			Reason: api.ReasonPermissionMissing, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s in namespace %s of cluster %s may not be listed, so none could be looked for", resource, at.Namespace, at.Cluster),
			Remedy:  "grant the right to list " + resource + ", as the shipped ClusterRole sliceshift-mover does, or see for yourself",
		}}, nil
	default:
		return nil, nil, err
	}
}

// targets reports whether a reference in the spec of an object is to the side's StatefulSet. KEDA defaults the
// apiVersion of a reference to apps/v1.
func targets(object *unstructured.Unstructured, at endpoint.Endpoint, field string) bool {
	word := func(name string) string {
		text, _, _ := unstructured.NestedString(object.Object, "spec", field, name)
		return text
	}
	version := word("apiVersion")
	return word("kind") == "StatefulSet" && word("name") == at.Set && (version == at.APIVersion || version == "" && at.APIVersion == "apps/v1")
}
