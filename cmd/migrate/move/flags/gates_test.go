package flags

import (
	"strings"
	"testing"
)

// TestReadGates: a file of gates is parsed and validated as by the resource definition.
func TestReadGates(t *testing.T) {
	const cel = ", cel: {objects: {apiVersion: v1, kind: Pod, name: a}, expression: 'true'}"
	testFiles(t, gates, map[string]file{
		"one":                   {"gates: [{name: a, at: [BeforeStop, AtEnd]" + cel + "}]", ""},
		"a Job":                 {"gates: [{name: a, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}]", ""},
		"none":                  {"gates: []", ""},
		"another list":          {"[]", "does not hold"},
		"a field that is not":   {"gates: [{name: a, at: [AtEnd], every: 5s" + cel + "}]", "every"},
		"no name":               {"gates: [{at: [AtEnd]" + cel + "}]", "its name"},
		"a name twice":          {"gates: [{name: a, at: [AtEnd]" + cel + "}, {name: a, at: [AtEnd]" + cel + "}]", "another one has its name"},
		"nowhere":               {"gates: [{name: a" + cel + "}]", "at must be"},
		"somewhere else":        {"gates: [{name: a, at: [Before]" + cel + "}]", "at must be"},
		"nothing":               {"gates: [{name: a, at: [AtEnd]}]", "exactly one"},
		"two things":            {"gates: [{name: a, at: [AtEnd], http: {port: 1}" + cel + "}]", "exactly one"},
		"a pod at the end":      {"gates: [{name: a, at: [AtEnd], http: {port: 1}}]", "at the end there is none"},
		"without an interval":   {"gates: [{name: a, at: [AtEnd], intervalSeconds: 0" + cel + "}]", "intervalSeconds"},
		"before it was started": {"gates: [{name: a, at: [AtEnd], initialDelaySeconds: -1" + cel + "}]", "initialDelaySeconds"},
		"too many":              {"gates: [" + strings.TrimSuffix(strings.Repeat("{}, ", 9), ", ") + "]", "may have 8"},
	})
}
