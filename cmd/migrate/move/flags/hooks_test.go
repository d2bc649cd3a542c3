package flags

import (
	"strings"
	"testing"
)

// TestReadHooks: a file of hooks is parsed and validated as by the resource definition.
func TestReadHooks(t *testing.T) {
	const job = ", job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}"
	testFiles(t, hooks, map[string]file{
		"one":                  {"hooks: [{name: a, point: BeforeOrdinal, side: Source, timeoutSeconds: 5, onFailure: Continue, onRollback: Skip" + job + "}]", ""},
		"none":                 {"hooks: []", ""},
		"another list":         {"[]", "does not hold"},
		"a field that is not":  {"hooks: [{name: a, at: BeforeOrdinal" + job + "}]", "at"},
		"no name":              {"hooks: [{point: BeforeOrdinal" + job + "}]", "its name"},
		"a name twice":         {"hooks: [{name: a, point: BeforeOrdinal" + job + "}, {name: a, point: AfterOrdinal" + job + "}]", "another one has its name"},
		"nowhere":              {"hooks: [{name: a" + job + "}]", "point must be"},
		"on a third side":      {"hooks: [{name: a, point: AfterOrdinal, side: Both" + job + "}]", "side must be"},
		"for no time":          {"hooks: [{name: a, point: AfterOrdinal, timeoutSeconds: 0" + job + "}]", "timeoutSeconds"},
		"another failure":      {"hooks: [{name: a, point: AfterOrdinal, onFailure: Ignore" + job + "}]", "onFailure"},
		"another rollback":     {"hooks: [{name: a, point: AfterOrdinal, onRollback: Warn" + job + "}]", "onRollback"},
		"nothing":              {"hooks: [{name: a, point: AfterOrdinal}]", "no template with containers"},
		"it never ends":        {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {suspend: true, template: {spec: {containers: [{name: a}]}}}}}]", "suspend"},
		"it is gone too soon":  {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {ttlSecondsAfterFinished: 60, template: {spec: {containers: [{name: a}]}}}}}]", "at least 300"},
		"with pods of another": {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {manualSelector: true, template: {spec: {containers: [{name: a}]}}}}}]", "selector"},
		"too many":             {"hooks: [" + strings.TrimSuffix(strings.Repeat("{}, ", 9), ", ") + "]", "may have 8"},
	})
}
