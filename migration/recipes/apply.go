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

// Apply puts a recipe into a spec. Gates that the spec has already stay, and win over those of the recipe
// that have the same name.
func (r Recipe) Apply(spec *api.MigrationSpec, gates []api.HealthGate, given Given) {
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
	own := spec.Gates
	var merged []api.HealthGate
	for _, gate := range gates {
		if !slices.ContainsFunc(own, func(o api.HealthGate) bool { return o.Name == gate.Name }) {
			merged = append(merged, gate)
		}
	}
	spec.Gates = slices.Concat(merged, own)
}
