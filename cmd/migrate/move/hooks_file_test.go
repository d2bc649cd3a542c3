package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// hookIs is a migration with a hook in a state, before another one that is over.
func hookIs(state api.HookState) *api.Migration {
	m := movetest.InMode(api.ModeRun)
	m.Spec.Hooks = []api.Hook{{Name: "begin", Point: api.HookBeforeMigration, OnFailure: api.HookFailureContinue}, {Name: "leave", Point: api.HookBeforeOrdinal}}
	m.Status.Hooks = []api.HookRun{
		{Name: "begin", Point: api.HookBeforeMigration, State: api.HookFailed, Job: "begin-1"},
		{Name: "leave", Point: api.HookBeforeOrdinal, Ordinal: new(int32(1)), State: state, Job: "leave-1"},
	}
	return m
}

// TestReadHooks: a file of hooks is read as the resource definition would, and what that refuses is refused.
func TestReadHooks(t *testing.T) {
	const job = ", job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}"
	for name, tc := range map[string]struct{ text, wrong string }{
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
	} {
		path := filepath.Join(t.TempDir(), "hooks.yaml")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readHooks(path)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readHooks(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	if hooks, err := readHooks(""); hooks != nil || err != nil {
		t.Errorf("no file: %v, %v", hooks, err)
	}
}
