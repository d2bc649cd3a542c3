package move

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// gatesFile is a file of health gates, as spec.gates of a Migration has them.
type gatesFile struct {
	Gates []api.HealthGate `json:"gates"`
}

// mostGates is how many gates a migration may have.
const mostGates = 8

// readGates reads the health gates of a file; empty: there are none. What the resource definition would
// refuse is refused here, because no API server sees a run's.
func readGates(path string) ([]api.HealthGate, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagGates, err)
	}
	file := gatesFile{}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, command.Usagef("--%s: %s does not hold `gates:` with a list of health gates: %v", flagGates, path, err)
	}
	return file.Gates, checkGates(fmt.Sprintf("--%s: %s", flagGates, path), file.Gates)
}

// checkGates refuses what the resource definition would refuse of gates that are given by something.
func checkGates(by string, gates []api.HealthGate) error {
	if len(gates) > mostGates {
		return command.Usagef("%s: there are %d gates, and a migration may have %d", by, len(gates), mostGates)
	}
	for i, gate := range gates {
		twice := slices.ContainsFunc(gates[:i], func(other api.HealthGate) bool { return other.Name == gate.Name })
		if why := wrongGate(gate); why != "" || twice {
			if twice {
				why = "another one has its name"
			}
			return command.Usagef("%s: gate %d, %q: %s", by, i+1, gate.Name, why)
		}
	}
	return nil
}

// wrongGate is what the resource definition would refuse of a gate; empty: nothing.
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
		return "exactly one of http, grpc, cel, prometheus and job says what is asked"
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
