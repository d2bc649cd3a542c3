package sidecar_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// lacks are the capabilities that the driver does not report, in the words of csi-sanity.
var lacks = []string{
	"Modify volume", "Modify Volume", "ControllerModifyVolume", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS", "GroupControllerService",
	"ControllerGetVolumeHealth", "ControllerListVolumeHealth", "NodeGetVolumeHealth", "NodeGetStorageHealth",
}

// attaches are the additional missing capabilities of a driver whose volumes are not attached.
var attaches = []string{"ControllerPublishVolume", "Controller Publish, UnpublishVolume", "ControllerUnpublishVolume"}

// TestSanity: the driver passes csi-sanity, the conformance test of the specification.
func TestSanity(t *testing.T) {
	treetest.NeedRoot(t)
	sanity, err := sidecar.Build(t.Context(), sidecar.Sanity, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		access string
		lacks  []string
		driver csi.Options
	}{
		"ext4":       {"mount", lacks, csi.Options{Attach: true, MostVolumes: 3}},
		"device":     {"block", lacks, csi.Options{Attach: true, MostVolumes: 3}},
		"unattached": {"mount", slices.Concat(lacks, attaches), csi.Options{System: "xfs"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, each := range judge(t, sanity, tc.access, tc.driver) {
				lacking := func(what string) bool { return each.Failure.Message == what+" not supported" }
				if each.State != "passed" && (each.State != "skipped" || !slices.ContainsFunc(tc.lacks, lacking)) {
					t.Errorf("%s is %s: %s", each.name(), each.State, each.Failure.Message)
				}
			}
		})
	}
}

// judge runs csi-sanity over a driver with a separate folder.
func judge(t *testing.T, sanity, access string, o csi.Options) []spec {
	t.Helper()
	f, err := csi.Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	o.Name, o.Node, o.Socket = "disks.example.com", "node", filepath.Join(f.Dir, "node.sock")
	d, err := f.Serve(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	path := filepath.Join(f.Dir, "report.json")
	const least, most = 320 << 20, 640 << 20 // the minimum for mkfs.xfs
	_, ended := program.In{}.Output(t.Context(), sanity, "--csi.endpoint="+d.Endpoint(), "--csi.testvolumeaccesstype="+access,
		"--csi.mountdir="+filepath.Join(f.Dir, "mount"), "--csi.stagingdir="+filepath.Join(f.Dir, "staging"),
		fmt.Sprintf("--csi.testvolumesize=%d", least), fmt.Sprintf("--csi.testvolumeexpandsize=%d", most),
		"--csi.testnodevolumeattachlimit", "--ginkgo.json-report="+path)
	var report []struct{ SpecReports []spec }
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &report)
	}
	if err != nil || len(report) != 1 {
		t.Fatalf("csi-sanity has made no report: %v, %v", ended, err)
	}
	return slices.DeleteFunc(report[0].SpecReports, func(s spec) bool { return s.State == "pending" }) // by its authors
}

// spec is the result of one ginkgo spec.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

func (s spec) name() string {
	return strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
}
