package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Near returns the names that are similar to a mistyped one.
func Near(name string, names []string) []string {
	known := &cobra.Command{SuggestionsMinimumDistance: mostMistyped}
	for _, each := range names {
		known.AddCommand(&cobra.Command{Use: each, Run: func(*cobra.Command, []string) {}})
	}
	return known.SuggestionsFor(name)
}

// NamesIn returns the names of the objects of a kind in a namespace, or none if they cannot be listed.
func NamesIn(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, namespace string) (names []string) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// DidYouMean returns a suggestion such as "; did you mean web?", or an empty string if no name is similar.
func DidYouMean(name string, names []string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
