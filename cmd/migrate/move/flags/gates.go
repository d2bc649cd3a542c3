package flags

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// gates describes spec.gates of a Migration.
var gates = list[api.HealthGate]{
	flag: Gates, field: "gates", all: "health gates", one: "gate", most: 8,
	parse: func(text []byte) ([]api.HealthGate, error) {
		var file struct {
			Gates []api.HealthGate `json:"gates"`
		}
		err := yaml.UnmarshalStrict(text, &file)
		return file.Gates, err
	},
	name: func(gate api.HealthGate) string { return gate.Name }, wrong: wrongGate,
}

// wrongGate returns why the resource definition would reject a gate, or an empty string.
func wrongGate(gate api.HealthGate) string {
	asks := 0
	for _, set := range []bool{gate.HTTP != nil, gate.GRPC != nil, gate.CEL != nil, gate.Prometheus != nil, gate.Job != nil} {
		if set {
			asks++
		}
	}
	points := []api.GatePoint{api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd}
	unknown := slices.ContainsFunc(gate.At, func(at api.GatePoint) bool { return !slices.Contains(points, at) })
	switch {
	case len(validation.IsDNS1123Label(gate.Name)) > 0:
		return "its name must be of lower-case letters, digits and -"
	case len(gate.At) == 0 || unknown:
		return "at must be one or more of BeforeStop, AfterStart and AtEnd"
	case asks != 1:
		return "exactly one of http, grpc, cel, prometheus and job must be set"
	case slices.Contains(gate.At, api.GateAtEnd) && (gate.HTTP != nil || gate.GRPC != nil):
		return "http and grpc ask the pod of one ordinal, and at the end there is none"
	}
	for name, count := range map[string]*int32{
		"intervalSeconds": gate.IntervalSeconds, "timeoutSeconds": gate.TimeoutSeconds, "successLimit": gate.SuccessLimit, "failureLimit": gate.FailureLimit,
	} {
		if count != nil && *count < 1 {
			return name + " must be at least 1"
		}
	}
	if gate.InitialDelaySeconds != nil && *gate.InitialDelaySeconds < 0 {
		return "initialDelaySeconds must be at least 0"
	}
	return ""
}
