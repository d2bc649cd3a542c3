package recipes

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Given says what of a spec somebody has asked for himself: a recipe leaves that as it is.
type Given struct {
	Order, MaxUnavailable, MinReadySeconds, ExportOrdinals bool
}

// Apply puts a recipe into a spec. Gates and hooks that the spec has already stay, and win over those of the
// recipe that have the same name.
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

// below are those of a recipe that are not there by another's word, and the others after them.
func below[T any](ofRecipe, own []T, name func(T) string) []T {
	var merged []T
	for _, each := range ofRecipe {
		if !slices.ContainsFunc(own, func(o T) bool { return name(o) == name(each) }) {
			merged = append(merged, each)
		}
	}
	return slices.Concat(merged, own)
}
