package versions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// moduleOf creates a module with these files, each of which requires the given release.
func moduleOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, release := range files {
		content := "module x\n\nrequire k8s.io/kubernetes " + release + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestY13Versions: the module files are the list of versions, in the order of their numbers, and go.mod is the default.
func TestY13Versions(t *testing.T) {
	all, err := in(moduleOf(t, map[string]string{"go.mod": "v1.36.3", "1.37.mod": "v1.37.2", "1.9.mod": "v1.9.1"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []Version{{Number: "1.9", Release: "v1.9.1"}, {Number: "1.36", Release: "v1.36.3", Default: true}, {Number: "1.37", Release: "v1.37.2"}}
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(Version{}, "Module", "File", "Flags")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if minor := all[2].Minor(); minor != 37 {
		t.Errorf("1.37 has the minor version %d", minor)
	}
	for number, want := range map[string]string{"": "v1.36.3", "1.36": "v1.36.3", "1.37": "v1.37.2", "1.9": "v1.9.1"} {
		if v, err := choose(all, number); err != nil || v.Release != want {
			t.Errorf("%q selects %s: %v", number, v.Release, err)
		}
	}
	for _, number := range []string{"1.3", "1.37.2", "v1.37", "37"} {
		if v, err := choose(all, number); err == nil || !strings.Contains(err.Error(), "1.9, 1.36, 1.37") {
			t.Errorf("%q selects %s: %v", number, v.Release, err)
		}
	}
}

// TestY13BadModuleFiles: a module file whose name is not its version, a second one of a version, and a folder without a
// default are errors.
func TestY13BadModuleFiles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"1.37.mod requires": {"go.mod": "v1.36.3", "1.37.mod": "v1.35.1"},
		"as another module": {"go.mod": "v1.37.2", "1.37.mod": "v1.37.2"},
		"has no go.mod":     {"1.36.mod": "v1.36.3"},
		"does not require":  {"go.mod": ""},
	} {
		if all, err := in(moduleOf(t, files)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v are versions %v: %v", files, all, err)
		}
	}
}

// TestY13EachVersionHasItsPlace: control planes of two versions, or from two module files, are different cached programs.
func TestY13EachVersionHasItsPlace(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range all {
		p := v.Program()
		if names[p.Name] || !strings.Contains(p.Flags, "gitVersion="+v.Release) {
			t.Errorf("%s: program %s with flags %s", v.Number, p.Name, p.Flags)
		}
		names[p.Name] = true
	}
	if len(all) < 2 {
		t.Errorf("the tests run on %d versions only", len(all))
	}
}

// TestY13Stages: CI has one stage for each version except for the default, on which all other stages run.
func TestY13Stages(t *testing.T) {
	root, err := built.Module()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, ".ci", "stages.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Stages []struct{ Name, Target string }
	}
	if err := yaml.Unmarshal(content, &plan); err != nil {
		t.Fatal(err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, v := range all {
		if !v.Default {
			want = append(want, "kubernetes "+v.Number+": kubernetes-"+v.Number)
		}
	}
	for _, stage := range plan.Stages {
		if strings.HasPrefix(stage.Target, "kubernetes-") {
			got = append(got, stage.Name+": "+stage.Target)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(".ci/stages.yaml: -want +got\n%s", diff)
	}
}
