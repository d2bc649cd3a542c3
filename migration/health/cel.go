package health

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// Limits of the objects for one expression.
const (
	maxObjects = 500
	maxBytes   = 4 << 20
)

// celAsker evaluates an expression over objects.
type celAsker struct {
	objects    api.GateObjects
	kind       schema.GroupVersionKind
	selector   labels.Selector
	expression *expression
	sides      Sides
}

func newCEL(gate api.CELGate, at []api.GatePoint, sides Sides) (*celAsker, error) {
	a := &celAsker{objects: gate.Objects, sides: sides}
	version, err := schema.ParseGroupVersion(gate.Objects.APIVersion)
	if err != nil || version.Version == "" || gate.Objects.Kind == "" {
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("cel.objects: %.63q and %.63q are no apiVersion and kind", gate.Objects.APIVersion, gate.Objects.Kind))
	}
	a.kind = version.WithKind(gate.Objects.Kind)
	if (gate.Objects.Name == "") == (gate.Objects.Selector == nil) {
		return nil, refuse(api.ReasonGateInvalid, "cel.objects: either name or selector says which objects")
	}
	if gate.Objects.Selector != nil {
		if a.selector, err = metav1.LabelSelectorAsSelector(gate.Objects.Selector); err != nil {
			return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("cel.objects.selector: %v", err))
		}
	}
	for field, text := range map[string]string{"cel.objects.name": gate.Objects.Name, "cel.objects.namespace": gate.Objects.Namespace} {
		if err := checkText(field, text, at); err != nil {
			return nil, err
		}
	}
	a.expression, err = compile("cel.expression", gate.Expression, ofObjects)
	return a, err
}

// found is the input of an expression.
type found struct {
	// named is the object with the configured name; nil if it does not exist.
	named map[string]any
	all   []any
	// of describes the objects for the user.
	of string
}

// Ask implements Asker.
func (a *celAsker) Ask(ctx context.Context, s Subject) Answer {
	ctx, release := clusters.Hold(clusters.AtMost(ctx, maxBytes))
	defer release()
	about, trouble := a.read(ctx, s)
	if trouble != nil {
		return *trouble
	}
	variables := map[string]any{
		"object": nil, "objects": about.all, "ordinal": nil, "pod": s.Pod, "side": string(s.Side),
	}
	if about.named != nil {
		variables["object"] = about.named
	}
	if s.Ordinal != nil {
		variables["ordinal"] = int64(*s.Ordinal)
	}
	holds, err := a.expression.holds(ctx, variables)
	if a.kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		err = unquoted(err)
	}
	if errors.Is(err, errType) && a.selector == nil && about.named == nil {
		return because(api.ReasonGateFailed, about.of+", and cel.expression asks for its fields")
	}
	return answerTo("cel.expression", about.of, holds, err)
}

// read reads the named object, or the selected ones.
func (a *celAsker) read(ctx context.Context, s Subject) (found, *Answer) {
	side, cluster := a.side(s)
	where := fmt.Sprintf("%s in cluster %s", a.kind.Kind, cluster)
	live := side.Connection.Live()
	namespaced, err := isNamespaced(live, a.kind)
	if err != nil {
		return found{}, new(a.unread(where, err))
	}
	namespace := ""
	if namespaced {
		namespace = s.fill(a.objects.Namespace)
		if namespace == "" {
			namespace = side.Namespace
		}
		where = fmt.Sprintf("%s of namespace %s in cluster %s", a.kind.Kind, namespace, cluster)
	}
	if a.selector != nil {
		return a.list(ctx, live, namespace, where)
	}
	return a.get(ctx, live, client.ObjectKey{Namespace: namespace, Name: s.fill(a.objects.Name)}, where)
}

// side returns the side of the objects, and the name of its cluster.
func (a *celAsker) side(s Subject) (side Side, cluster string) {
	which := a.objects.Side
	if which == "" {
		which = s.Side
	}
	side = a.sides.at(which)
	return side, side.Connection.Name()
}

func isNamespaced(c client.Client, kind schema.GroupVersionKind) (bool, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return c.IsObjectNamespaced(object)
}

func (a *celAsker) get(ctx context.Context, live client.Reader, key client.ObjectKey, where string) (found, *Answer) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(a.kind)
	err := live.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return found{of: fmt.Sprintf("%s %s, which does not exist", where, key.Name)}, nil
	case err != nil:
		return found{}, new(a.unread(where+" "+key.Name, err))
	}
	return found{object.Object, []any{object.Object}, where + " " + key.Name}, nil
}

func (a *celAsker) list(ctx context.Context, live client.Reader, namespace, where string) (found, *Answer) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(a.kind)
	err := live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: a.selector}, client.Limit(maxObjects))
	if err != nil {
		return found{}, new(a.unread(where, err))
	}
	if list.GetContinue() != "" || len(list.Items) > maxObjects {
		return found{}, new(because(api.ReasonGateTooCostly, fmt.Sprintf("cel.objects: there are more than %d %s that %q selects; select fewer, or name one", maxObjects, where, a.selector)))
	}
	about := found{all: make([]any, 0, len(list.Items)), of: fmt.Sprintf("%d %s", len(list.Items), where)}
	for i := range list.Items {
		about.all = append(about.all, list.Items[i].Object)
	}
	return about, nil
}

// unread returns the answer for objects that could not be read.
func (a *celAsker) unread(what string, err error) Answer {
	switch {
	case meta.IsNoMatchError(err):
		return because(api.ReasonGateInvalid, fmt.Sprintf("cel.objects: %s: the cluster serves no such kind in %s; use an apiVersion and kind that `kubectl api-resources` lists", what, a.kind.GroupVersion()))
	case errors.Is(err, clusters.ErrTooMuch):
		return because(api.ReasonGateTooCostly, fmt.Sprintf("cel.objects: %s: the objects exceed the %d MiB that are read for one query; select fewer, or name one", what, maxBytes>>20))
	case endpoint.LacksRight(err):
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s could not be read, because a permission is missing: %s. Grant it by a Role or ClusterRole there", what, endpoint.OneLine(err)))
	}
	return because(api.ReasonGateUnanswered, fmt.Sprintf("%s could not be read: %s", what, endpoint.OneLine(err)))
}
