package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
)

// specWith returns the error of a spec with these flags.
func specWith(t *testing.T, args ...string) error {
	t.Helper()
	var f flags.Spec
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	_, err := specOf(t.Context(), &f, "web", flags.Destination{Namespace: "shop", Name: "web2"})
	return err
}

// testFiles reads each file by a flag. Each has a text and a part of the error, which is empty if the file is valid.
func testFiles(t *testing.T, flag string, files map[string][2]string) {
	t.Helper()
	for name, tc := range files {
		path := filepath.Join(t.TempDir(), "list.yaml")
		if err := os.WriteFile(path, []byte(tc[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		err := specWith(t, "--"+flag, path)
		if tc[1] == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if command.ExitCode(err) != command.ExitUsage || !strings.Contains(err.Error(), "--"+flag+": "+path) && !strings.Contains(err.Error(), "--"+flag+" "+path+": ") || !strings.Contains(err.Error(), tc[1]) {
			t.Errorf("%s: %v, want one of %s with %q", name, err, path, tc[1])
		}
	}
	if err := specWith(t, "--"+flag, filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "--"+flag+": ") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// TestGatesFile: a file of gates is read strictly, and validated by the resource definition. The error names flag and file.
func TestGatesFile(t *testing.T) {
	const cel = ", cel: {objects: {apiVersion: v1, kind: Pod, name: a}, expression: 'true'}"
	testFiles(t, "gates", map[string][2]string{
		"one":                   {"gates: [{name: a, at: [BeforeStop, AtEnd]" + cel + "}]", ""},
		"a Job":                 {"gates: [{name: a, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}]", ""},
		"none":                  {"gates: []", ""},
		"another list":          {"[]", "does not hold `gates:` with a list of health gates"},
		"a field that is not":   {"gates: [{name: a, at: [AtEnd], every: 5s" + cel + "}]", "every"},
		"no name":               {"gates: [{at: [AtEnd]" + cel + "}]", "spec.gates[0].name: "},
		"a name twice":          {"gates: [{name: a, at: [AtEnd]" + cel + "}, {name: a, at: [AtEnd]" + cel + "}]", "spec.gates[1]: Duplicate value"},
		"nowhere":               {"gates: [{name: a" + cel + "}]", "spec.gates[0].at: "},
		"somewhere else":        {"gates: [{name: a, at: [Before]" + cel + "}]", `Unsupported value: "Before": supported values: "BeforeStop"`},
		"nothing":               {"gates: [{name: a, at: [AtEnd]}]", "exactly one"},
		"two things":            {"gates: [{name: a, at: [AtEnd], http: {port: 1}" + cel + "}]", "exactly one"},
		"a pod at the end":      {"gates: [{name: a, at: [AtEnd], http: {port: 1}}]", "AtEnd there is none"},
		"without an interval":   {"gates: [{name: a, at: [AtEnd], intervalSeconds: 0" + cel + "}]", "intervalSeconds: Invalid value: 0"},
		"before it was started": {"gates: [{name: a, at: [AtEnd], initialDelaySeconds: -1" + cel + "}]", "initialDelaySeconds: Invalid value: -1"},
		"too many":              {"gates: [" + strings.TrimSuffix(strings.Repeat("{}, ", 9), ", ") + "]", "must have at most 8 items"},
	})
}

// TestHooksFile: a file of hooks is read strictly, and validated by the resource definition and as Jobs.
func TestHooksFile(t *testing.T) {
	const job = ", job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}"
	testFiles(t, "hooks", map[string][2]string{
		"one":                    {"hooks: [{name: a, point: BeforeOrdinal, side: Source, timeoutSeconds: 5, onFailure: Continue, onRollback: Skip" + job + "}]", ""},
		"none":                   {"hooks: []", ""},
		"another list":           {"[]", "does not hold `hooks:` with a list of hooks"},
		"a field that is not":    {"hooks: [{name: a, at: BeforeOrdinal" + job + "}]", "at"},
		"no name":                {"hooks: [{point: BeforeOrdinal" + job + "}]", "spec.hooks[0].name: "},
		"a name twice":           {"hooks: [{name: a, point: BeforeOrdinal" + job + "}, {name: a, point: AfterOrdinal" + job + "}]", "spec.hooks[1]: Duplicate value"},
		"nowhere":                {"hooks: [{name: a" + job + "}]", "spec.hooks[0].point: "},
		"on a third side":        {"hooks: [{name: a, point: AfterOrdinal, side: Both" + job + "}]", `side: Unsupported value: "Both"`},
		"for no time":            {"hooks: [{name: a, point: AfterOrdinal, timeoutSeconds: 0" + job + "}]", "timeoutSeconds: Invalid value: 0"},
		"another failure":        {"hooks: [{name: a, point: AfterOrdinal, onFailure: Ignore" + job + "}]", `onFailure: Unsupported value: "Ignore"`},
		"another rollback":       {"hooks: [{name: a, point: AfterOrdinal, onRollback: Warn" + job + "}]", `onRollback: Unsupported value: "Warn"`},
		"nothing":                {"hooks: [{name: a, point: AfterOrdinal}]", `hook "a": job.spec has no template with containers`},
		"it never ends":          {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {suspend: true, template: {spec: {containers: [{name: a}]}}}}}]", "suspend"},
		"it is removed too soon": {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {ttlSecondsAfterFinished: 60, template: {spec: {containers: [{name: a}]}}}}}]", "at least 300"},
		"with pods of another":   {"hooks: [{name: a, point: AfterOrdinal, job: {spec: {manualSelector: true, template: {spec: {containers: [{name: a}]}}}}}]", "selector"},
		"too many":               {"hooks: [" + strings.TrimSuffix(strings.Repeat("{name: a, point: AfterOrdinal"+job+"}, ", 9), ", ") + "]", "must have at most 8 items"},
	})
}

// TestRulesOfFlags: flags that set fields of the API are validated by the rules of the fields.
func TestRulesOfFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"accessModes must be ReadWriteOnce":     {"--access-modes", "data=RWX", "--volume", "data=copy,image=m"},
		"method Rebind creates none":            {"--access-modes", "data=ReadWriteMany"},
		"must include one that allows writes":   {"--access-modes", "data=ReadOnlyMany", "--volume", "data=copy,image=m"},
		"ReadWriteOncePod must be the only one": {"--access-modes", "data=ReadWriteOncePod+ReadWriteOnce", "--volume", "data=copy,image=m"},
		"method Copy needs copy.image":          {"--volume", "data=copy"},
		"copy.downtimeLimit must be above 0":    {"--volume", "data=copy,image=m,downtime=2m,limit=1m"},
		"copy.prefetch needs warm passes":       {"--volume", "data=copy,image=m,prefetch=1,warm=none"},
		"transport Relay reaches both pods":     {"--volume", "data=copy,image=m,transport=relay,service=export"},
		"notBefore must be before notAfter":     {"--not-before", "2026-12-01T02:00:00Z", "--not-after", "2026-11-01T02:00:00Z"},
	} {
		err := specWith(t, args...)
		if command.ExitCode(err) != command.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
