package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const listed = `The following spec names can be used with 'ginkgo run --focus/skip':
    ../apps/deployment.go:1: [sig-apps] Deployment should run [Conformance]
    ../apps/statefulset.go:2: [sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should provide basic identity
    ../apps/statefulset.go:3: [sig-apps] StatefulSet Automatically recreate PVC should be recreated [Disruptive] [Serial]
    ../apps/statefulset.go:4: [sig-apps] StatefulSet Deploy clustered applications [Feature:StatefulSet] [Slow] should creating a working mysql cluster
    ../apps/statefulset.go:5: [sig-apps] StatefulSet Basic should perform rolling updates with maxUnavailable [FeatureGate:MaxUnavailableStatefulSet] [Feature:OffByDefault]

`

func TestNames(t *testing.T) {
	names := Names(listed)
	want := []string{
		"[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should provide basic identity",
		"[sig-apps] StatefulSet Automatically recreate PVC should be recreated [Disruptive] [Serial]",
		"[sig-apps] StatefulSet Basic should perform rolling updates with maxUnavailable [FeatureGate:MaxUnavailableStatefulSet] [Feature:OffByDefault]",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	if Alone(names[0]) || !Alone(names[1]) {
		t.Error("only the second one must run alone")
	}
	if got := Short(names[0]); got != "Basic StatefulSet functionality should provide basic identity" {
		t.Errorf("got %q", got)
	}
}

// reported is a report of Ginkgo.
const reported = `[{"SpecReports": [
	{"ContainerHierarchyTexts": null, "LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "passed"},
	{"ContainerHierarchyTexts": ["[sig-apps] StatefulSet", "Basic"], "LeafNodeType": "It", "LeafNodeText": "works", "State": "passed", "RunTime": 1500000000},
	{"ContainerHierarchyTexts": ["[sig-apps] StatefulSet", "Basic"], "LeafNodeType": "It", "LeafNodeText": "works with PVCs", "State": "failed", "RunTime": 61000000000,
	 "Failure": {"Message": "Current revision should not equal update revision\nExpected\n    a | b", "Location": {"FileName": "k8s.io/kubernetes/test/e2e/apps/statefulset.go", "LineNumber": 7}}}
]}]`

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(reported), 0o600); err != nil {
		t.Fatal(err)
	}
	var results Results
	for name, want := range map[string]Spec{
		Prefix + "Basic works":           {State: "passed", Took: 1500 * time.Millisecond},
		Prefix + "Basic works with PVCs": {State: "failed", Took: 61 * time.Second, Reason: "Current revision should not equal update revision (statefulset.go:7)"},
	} {
		want.Name = name
		got, err := Read(file, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v: -want +got\n%s", name, err, diff)
		}
		results.Add(got)
	}
	if got, err := Read(file, Prefix+"Basic"); err == nil {
		t.Errorf("of a spec that did not run it has %+v", got)
	}
	const summary = "1 of 2 specs pass.\n- Basic works with PVCs: failed, Current revision should not equal update revision (statefulset.go:7)"
	if diff := cmp.Diff(summary, results.Summary()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	table := results.Table()
	for _, line := range []string{summary, "| Basic works | passed | 2 |", "| Basic works with PVCs | failed: Current revision should not equal update revision (statefulset.go:7) | 61 |"} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("no line %q in\n%s", line, table)
		}
	}
}
