package recipes

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Given reports which fields of a spec the user has set; a recipe does not change these.
type Given struct {
	Order, MaxUnavailable, MinReadySeconds, ExportOrdinals bool
}

// Apply adds a recipe to a spec. Existing gates and hooks of the spec remain, and replace those of the recipe
// with the same name.
func (r Recipe) Apply(spec *api.MigrationSpec, filled Filled, given Given) {
	s := r.Settings
	if s.Order != "" && !given.Order {
		spec.Ordinals.Order = s.Order
	}
	if s.MaxUnavailable != nil && !given.MaxUnavailable {
		spec.MaxUnavailable = new(intstr.FromInt32(*s.MaxUnavailable))
	}
	if s.MinReadySeconds != nil && !given.MinReadySeconds {
		spec.Handoff.MinReadySeconds = new(*s.MinReadySeconds)
	}
	if s.ExportOrdinals && !given.ExportOrdinals {
		spec.Services.PerOrdinal = api.PerOrdinalExport
	}
	spec.Gates = below(filled.Gates, spec.Gates, func(g api.HealthGate) string { return g.Name })
	spec.Hooks = below(filled.Hooks, spec.Hooks, func(h api.Hook) string { return h.Name })
}

// below returns the items of a recipe without those that the spec replaces, followed by the items of the spec.
func below[T any](ofRecipe, own []T, name func(T) string) []T {
	var merged []T
	for _, each := range ofRecipe {
		if !slices.ContainsFunc(own, func(o T) bool { return name(o) == name(each) }) {
			merged = append(merged, each)
		}
	}
	return slices.Concat(merged, own)
}
