package plan

import api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"

// Services returns the Services and exports that the spec requests for clients.
func (s Spec) Services() api.ServicesSpec {
	asked := api.ServicesSpec{Export: s.Export, PerOrdinal: api.PerOrdinalNone}
	if s.NameOrdinals {
		asked.PerOrdinal = api.PerOrdinalExport
	}
	return asked
}

// Services returns the Services and exports that this move creates for clients: see Migration.AcceptedServices.
func (s Snapshot) Services() api.ServicesSpec {
	if base := s.Record.Baseline; base != nil && base.Services != nil {
		return base.Services.Spelled()
	}
	return s.Spec.Services()
}
