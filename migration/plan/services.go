package plan

import api "github.com/sliceshift/sliceshift/migration/v1alpha1"

// Services are what is asked for now so that clients find the pods.
func (s Spec) Services() api.ServicesSpec {
	asked := api.ServicesSpec{Export: s.Export, PerOrdinal: api.PerOrdinalNone}
	if s.NameOrdinals {
		asked.PerOrdinal = api.PerOrdinalExport
	}
	return asked
}

// Services are what this move makes so that clients find the pods: see Migration.AcceptedServices.
func (s Snapshot) Services() api.ServicesSpec {
	if base := s.Record.Baseline; base != nil && base.Services != nil {
		return base.Services.Spelled()
	}
	return s.Spec.Services()
}
